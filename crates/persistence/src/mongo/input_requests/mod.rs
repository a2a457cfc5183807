//! Questions of workflows: asked and closed in one transaction with their chat.

mod answer;
mod pending;

use std::collections::HashSet;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::json::Digest;
use records::{
    ChatId, ChatSession, ChatStatus, Closing, InputRequest, InputRequestId, NewInputAnswer,
    NewInputRequest, Scope,
};

use crate::StoreError;
use crate::metrics::Call;
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    InputRequestDocument, PENDING, StoredInput, closing_fields, counter, encode, input_app,
    input_key, input_record,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::{limit_and_one, older_than};
use crate::mongo::engine::scope::{chat_filter, permitted_chats, writable_chat};
use crate::mongo::engine::sweep::Overdue;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::input::{Cancel, KeptInput, Reply, should_run_again};
use crate::rules::new_chat::moved;
use crate::store::{
    AnsweredInput, ChatHead, InputCursor, InputPage, InputRequests, Outcome, PendingCursor,
    PendingInputs, PendingOrder, RequestedInput,
};

#[async_trait]
impl InputRequests for MongoStore {
    async fn request_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: NewInputRequest,
    ) -> Result<RequestedInput, StoreError> {
        self.observe(Call::RequestInput, Some(chat_id), async {
            let asked = KeptInput::asked(chat_id, new, &*self.inner.clock, &*self.inner.ids)?;
            let asking_id = self.inner.ids.mint("asking_");
            let scope = scope.clone();
            self.write(|call| async move {
                let chat_id = &asked.request.chat_id;
                let round = |tx| call.ask_round(tx, &scope, &asked, &asking_id);
                let requested = call.transact(&scope, chat_id, round).await;
                let requested = call.fenced_if_lease_lost(&scope, chat_id, requested).await?;
                if requested.outcome == Outcome::Stored {
                    call.notify_change(chat_id);
                }
                Ok(requested)
            })
            .await
        })
        .await
    }

    async fn get_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<InputRequest, StoreError> {
        self.observe(Call::GetInputRequest, Some(chat_id), async {
            let get = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                self.known_input(scope, chat_id, request_id).await
            };
            let stored = self.read(get).await?;
            Ok(stored.kept.request.at(self.inner.clock.now()))
        })
        .await
    }

    async fn list_input_requests(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&InputCursor>,
    ) -> Result<InputPage, StoreError> {
        self.observe(Call::ListInputRequests, Some(chat_id), async {
            let mut query =
                doc! { "app_id": scope.app_id.as_str(), "_id.chat_id": chat_id.as_str() };
            if let Some(InputCursor { created_at, request_id }) = after {
                let id = request_id.as_str();
                let older = older_than("created_at", *created_at, "_id.request_id", id);
                query.insert("$and", older.to_vec());
            }
            let list = || async {
                self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
                let find = self.inner.input_requests.find(query.clone());
                let find = find.sort(doc! { "created_at": -1, "_id.request_id": -1 });
                let found: Vec<_> = find.limit(limit_and_one(limit)).await?.try_collect().await?;
                Ok(InputPage::cut(self.shown(&found)?, limit))
            };
            self.read(list).await
        })
        .await
    }

    async fn find_input_requests(
        &self,
        scope: &Scope,
        request_id: &InputRequestId,
    ) -> Result<Vec<InputRequest>, StoreError> {
        self.observe(Call::FindInputRequests, None, async {
            let find = || async {
                let pending = self.find_visible(scope, request_id, Some(PENDING)).await?;
                if !pending.is_empty() {
                    return Ok(pending);
                }
                self.find_visible(scope, request_id, None).await
            };
            self.read(find).await
        })
        .await
    }

    async fn list_pending_inputs(
        &self,
        scope: &Scope,
        order: PendingOrder,
        limit: usize,
        after: Option<&PendingCursor>,
    ) -> Result<PendingInputs, StoreError> {
        let list = self.read(|| self.list_pending_within(scope, order, limit, after));
        self.observe(Call::ListPendingInputs, None, list).await
    }

    async fn answer_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        answer: NewInputAnswer,
    ) -> Result<AnsweredInput, StoreError> {
        self.observe(Call::AnswerInputRequest, Some(chat_id), async {
            let reply = Reply::check(scope, request_id, answer, &*self.inner.ids)?;
            self.inner.metrics.appends.given(&reply.batch);
            let answered = self.answer(scope, chat_id, request_id, reply).await;
            self.fenced_if_lease_lost(scope, chat_id, answered).await
        })
        .await
    }

    async fn cancel_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reason: Option<&str>,
    ) -> Result<InputRequest, StoreError> {
        self.observe(Call::CancelInputRequest, Some(chat_id), async {
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            let (request_id, reason) = (request_id.clone(), reason.map(str::to_owned));
            self.write(|call| async move {
                let reason = reason.as_deref();
                let round = |tx| call.cancel_round(tx, &scope, &chat_id, &request_id, reason);
                let cancelled = call.transact(&scope, &chat_id, round).await?;
                call.notify_change(&chat_id);
                cancelled
            })
            .await
        })
        .await
    }

    async fn expire_input_requests(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::ExpireInputRequests, None, async {
            let now = DateTime::from_chrono(self.inner.clock.now());
            let overdue = Overdue {
                sweep: Sweep::InputRequests,
                collection: &self.inner.input_requests,
                filter: doc! { "state": PENDING, "expires_at": { "$lte": now } },
                index: doc! { "state": 1, "expires_at": 1 },
                projection: doc! {},
            };
            let expire = |raw: RawDocumentBuf| async move {
                let app_id = input_app(&raw)?;
                let InputRequest { chat_id, request_id, .. } = input_record(&raw)?.kept.request;
                // A request of a deleted chat expires as well: the chat may be undeleted.
                let scope = Scope::service(app_id).finding_deleted();
                self.write(|call| async move {
                    let round = |tx| call.expire_round(tx, &scope, &chat_id, &request_id);
                    call.transact(&scope, &chat_id, round).await?;
                    call.notify_change(&chat_id);
                    Ok(true)
                })
                .await
            };
            self.sweep(&overdue, limit, expire).await
        })
        .await
    }
}

impl MongoStore {
    /// Finds the requests with an id, optionally in a state, in chats that the caller may see.
    async fn find_visible(
        &self,
        scope: &Scope,
        request_id: &InputRequestId,
        state: Option<&str>,
    ) -> Result<Vec<InputRequest>, Failure> {
        /// How many requests are checked with one query for their chats.
        const CHUNK: usize = 64;
        let mut query =
            doc! { "app_id": scope.app_id.as_str(), "_id.request_id": request_id.as_str() };
        if let Some(state) = state {
            query.insert("state", state);
        }
        let requests = self.inner.input_requests.find(query).await?;
        let mut chunks = requests.try_chunks(CHUNK);
        let mut found = Vec::new();
        while let Some(chunk) = chunks.try_next().await.map_err(|error| error.1)? {
            let requests = self.shown(&chunk)?;
            found.extend(self.permitted_inputs(scope, requests).await?);
            if found.len() >= InputPage::MAX_FOUND {
                found.truncate(InputPage::MAX_FOUND);
                break;
            }
        }
        Ok(found)
    }

    /// Keeps the requests of chats in which the caller has the permission of the scope now.
    async fn permitted_inputs(
        &self,
        scope: &Scope,
        requests: Vec<InputRequest>,
    ) -> Result<impl Iterator<Item = InputRequest>, Failure> {
        let ids: HashSet<_> = requests.iter().map(|request| request.chat_id.as_str()).collect();
        let mut chats = permitted_chats(scope);
        chats.insert("_id", doc! { "$in": ids.into_iter().collect::<Vec<_>>() });
        let visible = self.inner.chat_sessions.find(chats).projection(doc! { "_id": 1 });
        let visible: Vec<RawDocumentBuf> = visible.await?.try_collect().await?;
        let visible: HashSet<String> =
            visible.iter().filter_map(|raw| raw.get_str("_id").ok().map(str::to_owned)).collect();
        Ok(requests.into_iter().filter(move |it| visible.contains(it.chat_id.as_str())))
    }

    fn shown(&self, found: &[RawDocumentBuf]) -> Result<Vec<InputRequest>, StoreError> {
        let now = self.inner.clock.now();
        found.iter().map(|raw| Ok(input_record(raw)?.kept.request.at(now))).collect()
    }

    async fn ask_round(
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
    async fn cancel_round(
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
    async fn expire_round(
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

    pub(crate) async fn known_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<StoredInput, Failure> {
        let found = self.find_input(scope, chat_id, request_id).await?;
        found.ok_or_else(|| {
            let (chat_id, request_id) = (chat_id.clone(), request_id.clone());
            StoreError::InputNotFound { chat_id, request_id }.into()
        })
    }

    async fn find_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<Option<StoredInput>, Failure> {
        let one = input_filter(scope, chat_id, request_id);
        let found = self.inner.input_requests.find_one(one).await?;
        Ok(found.as_ref().map(input_record).transpose()?)
    }
}

fn input_filter(scope: &Scope, chat_id: &ChatId, request_id: &InputRequestId) -> Document {
    doc! { "_id": input_key(chat_id, request_id), "app_id": scope.app_id.as_str() }
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
