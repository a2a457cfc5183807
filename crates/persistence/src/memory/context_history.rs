use async_trait::async_trait;
use records::{ChatId, ContextVersion, KeptContext, Scope};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::store::{ContextHistory, ContextVersionPage};

#[async_trait]
impl ContextHistory for MemoryStore {
    async fn list_context_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        before: Option<u64>,
    ) -> Result<ContextVersionPage, StoreError> {
        self.observe(Call::ListContextVersions, || {
            self.with_chat(scope, chat_id, |chat| {
                let newest_first = chat.contexts.iter().rev().map(|kept| &kept.version);
                let is_wanted =
                    |version: &&ContextVersion| before.is_none_or(|end| version.version < end);
                let versions = newest_first.filter(is_wanted).cloned().collect();
                Ok(ContextVersionPage::cut(versions, limit))
            })
        })
        .await
    }

    async fn get_context_version(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        version: u64,
    ) -> Result<Option<KeptContext>, StoreError> {
        self.observe(Call::GetContextVersion, || {
            self.with_chat(scope, chat_id, |chat| {
                Ok(chat.contexts.iter().find(|kept| kept.version.version == version).cloned())
            })
        })
        .await
    }
}

impl Chat {
    /// Stores a version, and removes the oldest ones beyond the bounds.
    pub(super) fn keep(&mut self, context: KeptContext) {
        let newest_bytes = context.version.bytes;
        self.contexts.push_back(context);
        while self.contexts.len() as u64 > ContextVersionPage::KEPT
            || self.replaced_bytes(newest_bytes) > ContextVersionPage::KEPT_BYTES
        {
            self.contexts.pop_front();
        }
    }

    fn replaced_bytes(&self, newest_bytes: u64) -> u64 {
        self.contexts.iter().map(|kept| kept.version.bytes).sum::<u64>() - newest_bytes
    }

    /// Returns the newest version that was taken at or below a sequence, if it is still stored.
    pub(super) fn context_at(&self, sequence: u64) -> Option<&KeptContext> {
        self.contexts.iter().rev().find(|kept| kept.version.sequence <= sequence)
    }
}
