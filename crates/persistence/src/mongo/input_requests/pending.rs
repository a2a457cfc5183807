//! The pending requests of all chats that a caller lists.

use bson::{DateTime, Document, RawDocumentBuf, doc};
use futures::future::try_join_all;
use mongodb::options::Hint;
use records::{Reach, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::ACTIVE_MINUTE;
use crate::mongo::documents::PENDING;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::SortedFind;
use crate::rules::lists::serving_lists;
use crate::store::{ChatFilter, ChatOrder, PendingCursor, PendingInputs, PendingOrder};

impl MongoStore {
    /// Reads requests in the order of the index, and keeps those of chats that the caller may read now, until the page is full.
    pub(super) async fn list_pending_within(
        &self,
        scope: &Scope,
        order: PendingOrder,
        limit: usize,
        after: Option<&PendingCursor>,
    ) -> Result<PendingInputs, Failure> {
        let mut query = doc! { "app_id": scope.app_id.as_str(), "state": PENDING };
        if scope.reach(scope.permission) != Reach::Every {
            let chats = self.waiting_chats(scope).await?;
            query.insert("_id.chat_id", doc! { "$in": chats });
        }
        let (mut requests, mut examined, mut position) = (Vec::new(), 0, after.cloned());
        while examined < PendingInputs::MAX_EXAMINED {
            let found = self.pending_after(&query, order, limit, position.as_ref()).await?;
            let is_last = found.len() < limit;
            examined += found.len();
            let found = self.shown(&found)?;
            position = found.last().map(PendingCursor::at).or(position);
            // An overdue request is closed for every reader.
            let pending = found.into_iter().filter(|request| request.closing.is_none()).collect();
            let missing = limit - requests.len();
            let mut permitted = self.permitted_inputs(scope, pending).await?;
            requests.extend(permitted.by_ref().take(missing));
            if permitted.next().is_some() {
                let next = requests.last().map(PendingCursor::at);
                return Ok(PendingInputs { requests, next });
            }
            if is_last {
                return Ok(PendingInputs { requests, next: None });
            }
            if requests.len() == limit {
                break;
            }
        }
        Ok(PendingInputs { requests, next: position })
    }

    /// Returns the ids of a person's chats that wait for an answer.
    async fn waiting_chats(&self, scope: &Scope) -> Result<Vec<String>, Failure> {
        let order = ChatOrder::Active;
        let waiting = ChatFilter { needs_input: true, order, ..ChatFilter::default() };
        let lists = serving_lists(scope, &waiting, None).map_err(StoreError::from)?;
        let sort = doc! { ACTIVE_MINUTE: -1, "_id": -1 };
        let most = PendingInputs::MAX_CHATS;
        let ids = |list| self.listed_ids(list, scope, &waiting, sort.clone(), most);
        Ok(try_join_all(lists.into_iter().map(ids)).await?.concat())
    }

    async fn pending_after(
        &self,
        query: &Document,
        order: PendingOrder,
        limit: usize,
        after: Option<&PendingCursor>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        const INDEX: [&str; 5] = ["app_id", "state", "created_at", "_id.chat_id", "_id.request_id"];
        let (direction, beyond, or_at) = match order {
            PendingOrder::Newest => (-1, "$lt", "$lte"),
            PendingOrder::Oldest => (1, "$gt", "$gte"),
        };
        let mut query = query.clone();
        if let Some(PendingCursor { created_at, chat_id, request_id }) = after {
            let (at, chat_id) = (DateTime::from_chrono(*created_at), chat_id.as_str());
            let of_chat =
                doc! { "_id.chat_id": chat_id, "_id.request_id": { beyond: request_id.as_str() } };
            let later_chat = doc! { "_id.chat_id": { beyond: chat_id } };
            let later = doc! { "created_at": { beyond: at } };
            let same = doc! { "created_at": at, "$or": [later_chat, of_chat] };
            query.insert("created_at", doc! { or_at: at });
            query.insert("$or", vec![later, same]);
        }
        let sort = INDEX[2..].iter().map(|field| ((*field).to_owned(), direction.into()));
        let keys = INDEX.iter().map(|field| ((*field).to_owned(), 1.into()));
        let index = Hint::Keys(keys.collect());
        let projection = Document::new();
        let find = SortedFind { filter: query, sort: sort.collect(), index, limit, projection };
        find.read(&self.inner.input_requests).await
    }
}
