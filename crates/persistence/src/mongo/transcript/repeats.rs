//! What repeats messages that are edited or deleted: the answers that they were to questions, and the unfinished steps of their
//! turns.

use std::collections::BTreeMap;

use bson::{DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{ChatId, InputRequestId, Message, MessageBody, Scope};

use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::json::to_bson;
use crate::mongo::engine::one_of::one_of;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::engine::transaction::Transaction;
use crate::mongo::input_requests::push_recent_inputs;
use crate::mongo::purges::records_filter;
use crate::rules::erasure::ERASED_NAME;

/// The records that repeat messages.
pub(super) struct Repeats {
    /// The questions that the messages answered.
    answered: Vec<InputRequestId>,
    /// A filter for the resume points of their turns, if there are any and the messages are to be deleted.
    points: Option<Document>,
}

impl MongoStore {
    /// Returns what repeats messages that are edited or deleted; `None` if nothing does.
    pub(super) async fn repeats_of(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: &[&Message],
        is_deletion: bool,
    ) -> Result<Option<Repeats>, Failure> {
        if messages.is_empty() {
            return Ok(None);
        }
        let mut answers = records_filter(&scope.app_id, chat_id);
        let ids = messages.iter().map(|message| message.event_id.to_string());
        answers.insert("answer.event_id", one_of(ids.collect()));
        let found = self.inner.input_requests.find(answers).projection(doc! { "_id": 1 }).await?;
        let found: Vec<RawDocumentBuf> = found.try_collect().await?;
        let answered = found.iter().filter_map(|raw| {
            let id = raw.get_document("_id").ok()?.get_str("request_id").ok()?;
            InputRequestId::parse(id).ok()
        });
        let answered: Vec<InputRequestId> = answered.collect();
        let mut points = None;
        let mut turns = BTreeMap::new();
        for message in messages {
            if let Some(turn) = message.body.extra_text(MessageBody::REQUEST_ID) {
                let said_at = turns.entry(turn).or_insert(message.created_at);
                *said_at = message.created_at.min(*said_at);
            }
        }
        if is_deletion && !turns.is_empty() {
            // What was said after a turn was written is not repeated there, whatever turn it names.
            let of_turn = |(turn, said_at): (&str, chrono::DateTime<chrono::Utc>)| {
                let since = DateTime::from_chrono(said_at);
                doc! { "_id.request_id": turn, "created_at": { "$gte": since } }
            };
            let mut of_turns = records_filter(&scope.app_id, chat_id);
            of_turns.insert("$or", turns.into_iter().map(of_turn).collect::<Vec<_>>());
            let any = self.inner.resume_points.find_one(of_turns.clone());
            points = any.projection(doc! { "_id": 1 }).await?.map(|_| of_turns);
        }
        Ok((!answered.is_empty() || points.is_some()).then_some(Repeats { answered, points }))
    }

    /// Makes what repeats messages say what one of them says now, and tells listeners of the questions. The unfinished steps of
    /// their turns are removed with messages that were deleted.
    pub(super) async fn rewrite_repeats(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        repeats: Repeats,
        message: &Message,
    ) -> Result<(), Failure> {
        let Repeats { answered, points } = repeats;
        let app_id = &scope.app_id;
        if !answered.is_empty() {
            let ids: Vec<&str> = answered.iter().map(InputRequestId::as_str).collect();
            let mut these = records_filter(app_id, chat_id);
            these.insert("_id.request_id", doc! { "$in": ids });
            let mut says = doc! { "answer.content": to_bson(&message.body.content) };
            if message.deleted_at.is_some() {
                says.insert("answer.name", ERASED_NAME);
            }
            let inputs = self.inner.input_requests.update_many(these, doc! { "$set": says });
            inputs.session(&mut *tx.session().await?).await?;
            let tell = push_recent_inputs(&answered);
            let telling = self.inner.chat_sessions.update_one(chat_filter(app_id, chat_id), tell);
            telling.session(&mut *tx.session().await?).await?;
        }
        if let Some(points) = points {
            let points = self.inner.resume_points.delete_many(points);
            points.session(&mut *tx.session().await?).await?;
        }
        Ok(())
    }
}
