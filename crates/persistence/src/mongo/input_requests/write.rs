//! What a call writes of a question.

use bson::{Bson, DateTime, Document, doc};
use records::json::Digest;
use records::{ChatId, ChatSession, ChatStatus, Closing, InputRequest, InputRequestId, Scope};

use super::input_filter;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    InputRequestDocument, PENDING, StoredInput, closing_fields, counter, encode, input_key,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::{chat_filter, writable_chat};
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::input::{Cancel, KeptInput, should_run_again};
use crate::rules::new_chat::moved;
use crate::store::{ChatHead, Outcome, RequestedInput};

impl MongoStore {
    pub(super) async fn ask_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        asked: &KeptInput,
        asking_id: &str,
    ) -> Result<Round<RequestedInput>, Failure> {
        let InputRequest { chat_id, request_id, .. } = &asked.request;
        let chat = self.known_chat(scope, chat_id).await?;
        if let Some(known) = self.find_input(scope, chat_id, request_id).await? {
            known.kept.repeated_by(asked)?;
            let is_ours = known.asking_id == asking_id;
            let outcome = Outcome::of_found(is_ours);
            let request = known.kept.request.at(self.inner.clock.now());
            return Ok(Round::Done(RequestedInput { request, outcome }));
        }
        tx.attempt().note_nothing_applied();
        if chat.status.is_ended() {
            let (chat_id, status) = (chat_id.clone(), chat.status);
            return Err(StoreError::ChatEnded { chat_id, status }.into());
        }
        if chat.pending_inputs.len() >= InputRequest::MAX_PENDING {
            return Err(StoreError::TooManyInputs(chat_id.clone()).into());
        }
        tx.begin_counted(&chat).await?;
        let is_asked = self.ask_within(&tx, scope, &chat, asked, asking_id).await?;
        let request = asked.request.clone();
        Ok(Round::of(is_asked.map(|()| RequestedInput { request, outcome: Outcome::Stored })))
    }

    /// Inserts a request and adds it to its chat, which waits for it from then on. Returns `None`
    /// if the chat has changed since it was read.
    async fn ask_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        asked: &KeptInput,
        asking_id: &str,
    ) -> Result<Option<()>, Failure> {
        let pending = doc! { "pending_inputs": asked.request.request_id.as_str() };
        // Rivals may have asked since the chat was read.
        let last_place = format!("pending_inputs.{}", InputRequest::MAX_PENDING - 1);
        let has_room = doc! { last_place: { "$exists": false } };
        let update = doc! { "$addToSet": pending };
        let noting = self.note_input(tx, scope, chat, &asked.request, has_room, update);
        let Some(chat) = noting.await? else { return Ok(None) };
        let document = encode(&InputRequestDocument::new(&chat.app_id, asked, asking_id))?;
        let insert = self.inner.input_requests.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        if chat.status != ChatStatus::Running {
            return Ok(Some(()));
        }
        let reason = Some(InputRequest::PAUSE_REASON);
        let paused = moved(&chat, ChatStatus::Paused, reason, asked.request.created_at);
        self.change_status_by_input(tx, scope, &chat, &paused).await
    }

    /// Cancels a question. The inner error means that it was overdue and was closed as expired instead.
    pub(super) async fn cancel_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reason: Option<&str>,
    ) -> Result<Round<Result<InputRequest, StoreError>>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let StoredInput { kept, .. } = self.known_input(scope, chat_id, request_id).await?;
        match kept.cancel(reason, self.inner.clock.now()) {
            Cancel::Done => Ok(Round::Done(Ok(kept.request))),
            Cancel::Refuse(refusal) => Err(refusal.into()),
            // The request is closed as expired, and the caller gets that state.
            Cancel::Expire => {
                let closed = self.close_overdue(&tx, scope, &chat, &kept).await?;
                Ok(closed.map(|request| Err(StoreError::InputClosed(Box::new(request)))))
            }
            Cancel::Close(closing) => {
                tx.begin_counted(&chat).await?;
                let closed = self.close_within(&tx, scope, &chat, &kept, &closing, None).await?;
                Ok(Round::of(closed).map(Ok))
            }
        }
    }

    /// Closes an overdue request, unless another process has closed it.
    pub(super) async fn expire_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<Round<()>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let StoredInput { kept, .. } = self.known_input(scope, chat_id, request_id).await?;
        if kept.request.closing.is_some() {
            return Ok(Round::Done(()));
        }
        Ok(self.close_overdue(&tx, scope, &chat, &kept).await?.map(|_| ()))
    }

    /// Closes an overdue request.
    pub(crate) async fn close_overdue(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        kept: &KeptInput,
    ) -> Result<Round<InputRequest>, Failure> {
        let Some(closing) = kept.expiry() else { return Ok(Round::Again) };
        tx.begin_counted(chat).await?;
        // Expiry closes the request, so no fencing token is needed.
        let scope = &scope.unfenced();
        self.close_within(tx, scope, chat, kept, &closing, None).await.map(Round::of)
    }

    /// Closes a pending request within a transaction. The chat runs again if this was the last
    /// request that it waited for. Returns `None` if something has changed since it was read.
    pub(crate) async fn close_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        kept: &KeptInput,
        closing: &Closing,
        answered: Option<(&str, &Digest)>,
    ) -> Result<Option<InputRequest>, Failure> {
        let InputRequest { chat_id, request_id, .. } = &kept.request;
        let update = doc! { "$pull": { "pending_inputs": request_id.as_str() } };
        let noting = self.note_input(tx, scope, chat, &kept.request, doc! {}, update);
        let Some(chat) = noting.await? else { return Ok(None) };
        let mut one = input_filter(scope, chat_id, request_id);
        one.insert("state", PENDING);
        let update = doc! { "$set": closing_fields(closing, answered)? };
        let update = self.inner.input_requests.update_one(one, update);
        if update.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(None);
        }
        if should_run_again(&chat) {
            let running = moved(&chat, ChatStatus::Running, None, self.inner.clock.now());
            let moved = self.change_status_by_input(tx, scope, &chat, &running).await?;
            if moved.is_none() {
                return Ok(None);
            }
        }
        Ok(Some(InputRequest { closing: Some(closing.clone()), ..kept.request.clone() }))
    }

    async fn change_status_by_input(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        moved: &ChatSession,
    ) -> Result<Option<()>, Failure> {
        let change_id = self.inner.ids.mint("change_");
        let moved = self.change_status_within(tx, scope, chat, moved, &change_id).await?;
        Ok(moved.map(|_| ()))
    }

    /// Records in its chat that a request was created or closed. Returns the chat after the update;
    /// `None` if its status has changed since it was read, or it does not meet the condition.
    async fn note_input(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        request: &InputRequest,
        condition: Document,
        change: Document,
    ) -> Result<Option<ChatSession>, Failure> {
        let mut filter = writable_chat(scope, &chat.chat_id);
        filter.insert("status", chat.status.number());
        filter.extend(condition);
        let mut update = push_recent_inputs([&request.request_id]);
        update.insert(
            "$set",
            doc! { "last_updated_at": DateTime::from_chrono(self.inner.clock.now()) },
        );
        update.extend(change);
        self.updated_session(Some(tx), filter, update).await
    }

    /// Closes all pending requests of a chat within the transaction that ends the chat.
    pub(crate) async fn end_inputs(
        &self,
        chat: &mut ChatSession,
        tx: &Transaction<'_>,
    ) -> Result<(), Failure> {
        let pending = std::mem::take(&mut chat.pending_inputs);
        if pending.is_empty() {
            return Ok(());
        }
        let ids: Vec<Document> = pending.iter().map(|id| input_key(&chat.chat_id, id)).collect();
        let pending_ones = || {
            doc! { "_id": { "$in": ids.clone() }, "app_id": chat.app_id.as_str(), "state": PENDING }
        };
        let now = DateTime::from_chrono(chat.last_updated_at);
        let mut overdue = pending_ones();
        overdue.insert("expires_at", doc! { "$lte": now });
        let expire = doc! { "$set": { "state": "expired", "closed_at": "$expires_at" } };
        let requests = &self.inner.input_requests;
        let expire = requests.update_many(overdue, vec![expire]);
        expire.session(&mut *tx.session().await?).await?;
        let reason = chat.status.as_str();
        let end = doc! { "$set": { "state": "chat_ended", "closed_at": now, "reason": reason } };
        let end = requests.update_many(pending_ones(), end);
        end.session(&mut *tx.session().await?).await?;

        let one = chat_filter(&chat.app_id, &chat.chat_id);
        let mut update = push_recent_inputs(&pending);
        update.insert("$set", doc! { "pending_inputs": Bson::Array(Vec::new()) });
        let update = self.inner.chat_sessions.update_one(one, update);
        update.session(&mut *tx.session().await?).await?;
        Ok(())
    }
}

/// Returns the update that records in a chat which requests were created or closed.
pub(crate) fn push_recent_inputs<'a>(
    request_ids: impl IntoIterator<Item = &'a InputRequestId>,
) -> Document {
    let ids: Vec<&str> = request_ids.into_iter().map(InputRequestId::as_str).collect();
    let last = -counter(ChatHead::RECENT_INPUTS as u64);
    doc! {
        "$inc": { "input_version": counter(ids.len() as u64) },
        "$push": { "recent_inputs": { "$each": ids, "$slice": last } },
    }
}
