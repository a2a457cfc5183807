//! Questions of workflows: asked and closed in one transaction with their chat.

mod answer;
mod pending;
mod write;

pub(crate) use write::push_recent_inputs;

use std::collections::HashSet;

use async_trait::async_trait;
use bson::{DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{ChatId, InputRequest, InputRequestId, NewInputAnswer, NewInputRequest, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::metrics::Sweep;
use crate::mongo::MongoStore;
use crate::mongo::documents::{PENDING, StoredInput, input_app, input_key, input_record};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::{limit_and_one, older_than};
use crate::mongo::engine::scope::permitted_chats;
use crate::mongo::engine::sweep::Overdue;
use crate::rules::input::{KeptInput, Reply};
use crate::store::{
    AnsweredInput, InputCursor, InputPage, InputRequests, Outcome, PendingCursor, PendingInputs,
    PendingOrder, RequestedInput,
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
            let reply = Reply::check(scope, chat_id, request_id, answer, &*self.inner.ids)?;
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
