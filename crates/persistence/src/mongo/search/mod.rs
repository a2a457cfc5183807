//! Search in what was said (decision 0055): an entry for each message in an index of its own, and a mark for each chat that
//! says how far its messages are indexed.
//!
//! Entries only narrow a search down. Rights, and the text of a hit, come from the chat at that moment.

mod catch_up;
mod documents;
mod expansion;
mod finding;
mod indexing;
mod leader;
mod rebuild;
mod sources;

pub(crate) use catch_up::next_after;
pub(crate) use documents::{MarkDocument, SearchEntryDocument};
pub(crate) use leader::progress_rewritten;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Permission, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::store::{CatchUp, HitPage, HitPosition, MessageSearch, Search};

#[async_trait]
impl Search for MongoStore {
    async fn search_messages(
        &self,
        scope: &Scope,
        search: &MessageSearch,
        limit: usize,
        after: Option<&HitPosition>,
    ) -> Result<HitPage, StoreError> {
        self.observe(Call::SearchMessages, search.chat_id.as_ref(), async {
            search.check()?;
            let scope = &scope.needing(Permission::Read);
            self.read(|| self.find_hits(scope, search, limit, after)).await
        })
        .await
    }

    async fn index_chats(&self, chat_ids: &[ChatId]) -> Result<Vec<ChatId>, StoreError> {
        self.observe(Call::IndexChats, None, self.index(chat_ids.to_vec())).await
    }

    async fn catch_up_index(
        &self,
        app_id: &AppId,
        after: Option<&CatchUp>,
        limit: usize,
    ) -> Result<Option<CatchUp>, StoreError> {
        self.observe(Call::CatchUpIndex, None, self.catch_up(app_id, after, limit)).await
    }

    async fn lead_index(
        &self,
        process: &str,
        indexed_to: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        self.observe(Call::LeadIndex, None, self.lead(process, indexed_to)).await
    }
}
