use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{AppId, ChatId, Permission, Scope};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::lists::serving_lists;
use crate::rules::search::{shown_part, words_of};
use crate::store::{CatchUp, ChatFilter, Hit, HitPage, HitPosition, MessageSearch, Search};

/// It has no index: a search reads all messages.
#[async_trait]
impl Search for MemoryStore {
    async fn search_messages(
        &self,
        scope: &Scope,
        search: &MessageSearch,
        limit: usize,
        after: Option<&HitPosition>,
    ) -> Result<HitPage, StoreError> {
        self.observe(Call::SearchMessages, || {
            search.check()?;
            let scope = &scope.needing(Permission::Read);
            if let Some(chat_id) = &search.chat_id {
                self.with_chat(scope, chat_id, |_| Ok(()))?;
            } else {
                serving_lists(scope, &search.filter(), None)?;
            }
            let mut found: Vec<(HitPosition, Hit)> = Vec::new();
            for chat in self.chats().values().filter(|chat| chat.is_searched(scope, search)) {
                found.extend(chat.hits(search).filter(|(it, _)| after.is_none_or(|at| it < at)));
            }
            found.sort_by(|(one, _), (other, _)| other.cmp(one));
            let next = found.get(limit).and(limit.checked_sub(1)).map(|last| found[last].0.clone());
            let hits = found.into_iter().take(limit).map(|(_, hit)| hit).collect();
            let indexed_to = Some(self.clock.now());
            Ok(HitPage { hits, next, is_partial: false, indexed_to })
        })
        .await
    }

    async fn index_chats(&self, _chat_ids: &[ChatId]) -> Result<Vec<ChatId>, StoreError> {
        self.observe(Call::IndexChats, || Ok(Vec::new())).await
    }

    async fn catch_up_index(
        &self,
        _app_id: &AppId,
        _after: Option<&CatchUp>,
        _limit: usize,
    ) -> Result<Option<CatchUp>, StoreError> {
        self.observe(Call::CatchUpIndex, || Ok(None)).await
    }

    async fn lead_index(
        &self,
        _process: &str,
        _indexed_to: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        self.observe(Call::LeadIndex, || Ok(true)).await
    }
}

impl Chat {
    fn is_searched(&self, scope: &Scope, search: &MessageSearch) -> bool {
        if let Some(chat_id) = &search.chat_id {
            return self.session.chat_id == *chat_id;
        }
        let filter: ChatFilter = search.filter();
        self.session.app_id == scope.app_id
            && scope.finds(self.session.lifecycle)
            && (filter.of_app || scope.lists(&self.session, &self.members))
            && filter.admits(&self.session)
    }

    fn hits<'a>(
        &'a self,
        search: &'a MessageSearch,
    ) -> impl Iterator<Item = (HitPosition, Hit)> + 'a {
        let (chat_id, title) = (&self.session.chat_id, &self.session.title);
        self.messages.iter().filter_map(move |kept| {
            let message = &kept.message;
            let words = words_of(message);
            if !search.query.admits(&words) {
                return None;
            }
            let snippet = shown_part(&search.query, message)?;
            let hit = Hit::of(chat_id.clone(), title.clone(), message.clone(), snippet);
            Some((hit.position(), hit))
        })
    }
}
