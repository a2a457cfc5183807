//! Messages that name a call which is deleted, and name none from then on.

use bson::{Document, RawDocument, doc};
use futures::TryStreamExt as _;
use mongodb::ClientSession;
use records::{CallId, ChatId, MessageBody, Scope};

use super::edit::noted;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{Segment, Tail, counter, open_chat_session, segments_between};
use crate::mongo::failure::Failure;
use crate::mongo::fields::Fields;
use crate::mongo::scope::writable_chat;

/// Where a stored message names its call.
const LINK: &str = "messages.produced_by_call_id";

impl MongoStore {
    /// Unlinks the messages that name a call; each of them counts as edited.
    pub(super) async fn unlink_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
        session: &mut ClientSession,
    ) -> Result<(), Failure> {
        let nothing = || doc! { "messages.$[produced].produced_by_call_id": null };
        let of_call = || doc! { "produced.produced_by_call_id": call_id.as_str() };
        let (sessions, segments) = (&self.inner.chat_sessions, &self.inner.chat_segments);

        // First, and whether or not the tail names the call, so that appends which come meanwhile wait
        // for this, and not the reverse.
        let unlink = doc! { "$set": nothing(), "$inc": { "revision": 1_i64 } };
        let unlink = sessions.find_one_and_update(writable_chat(scope, chat_id), unlink);
        let unlink = unlink.array_filters([of_call()]).projection(with_links(Tail::projection()));
        let before = unlink.session(&mut *session).await?;
        let Some(before) = before else {
            return Err(self.why_not_writable(scope, chat_id).await?);
        };
        let fields = open_chat_session(&before)?;
        let first_sequence = Tail::read(&fields)?.first_sequence;
        let in_tail = linked(first_sequence, &fields, call_id)?;

        let mut sealed = segments_between(scope, chat_id, 0..first_sequence);
        sealed.insert(LINK, call_id.as_str());
        let find = segments.find(sealed.clone()).sort(doc! { "_id": 1 });
        let find = find.projection(with_links(doc! { "schema_version": 1 }));
        let mut found = find.session(&mut *session).await?;
        let mut unlinked = Vec::new();
        while let Some(raw) = found.stream(session).try_next().await? {
            unlinked.extend(linked_in_segment(chat_id, &raw, call_id)?);
        }
        unlinked.extend(in_tail);
        let unlink = doc! { "$set": nothing(), "$inc": { "edits": 1_i64 } };
        let unlink = segments.update_many(sealed, unlink).array_filters([of_call()]);
        unlink.session(&mut *session).await?;

        // One move of the revision is made already.
        let further = counter(unlinked.len() as u64) - 1;
        let note = doc! { "$inc": { "revision": further }, "$push": noted(unlinked) };
        sessions.update_one(writable_chat(scope, chat_id), note).session(session).await?;
        Ok(())
    }
}

fn with_links(mut projection: Document) -> Document {
    projection.insert(LINK, 1);
    projection
}

fn linked_in_segment(
    chat_id: &ChatId,
    raw: &RawDocument,
    call_id: &CallId,
) -> Result<Vec<u64>, StoreError> {
    let (first_sequence, fields) = Segment::open(chat_id, raw)?;
    linked(first_sequence, &fields, call_id)
}

/// Returns the sequences of the messages that name a call.
fn linked(
    first_sequence: u64,
    fields: &Fields<'_>,
    call_id: &CallId,
) -> Result<Vec<u64>, StoreError> {
    let mut linked = Vec::new();
    for (sequence, message) in (first_sequence..).zip(fields.documents("messages")?) {
        if message?.field(MessageBody::PRODUCED_BY)?.raw().as_str() == Some(call_id.as_str()) {
            linked.push(sequence);
        }
    }
    Ok(linked)
}
