use async_trait::async_trait;
use records::{ChatId, ContextSnapshot, JsonObject, Scope, json, merge_patch};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::store::Contexts;

#[async_trait]
impl Contexts for MemoryStore {
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        ContextSnapshot::check(&data)?;
        self.with_chat(scope, chat_id, |chat| {
            chat.check_fence(scope.fencing_token)?;
            Ok(self.take(chat, data))
        })
    }

    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        json::measure_object(&patch)?;
        self.with_chat(scope, chat_id, |chat| {
            chat.check_fence(scope.fencing_token)?;
            let mut data = chat.context.data.clone();
            merge_patch(&mut data, &patch);
            ContextSnapshot::check(&data)?;
            Ok(self.take(chat, data))
        })
    }

    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        self.with_chat(scope, chat_id, |chat| Ok(chat.context.clone()))
    }
}

impl MemoryStore {
    fn take(&self, chat: &mut Chat, data: JsonObject) -> ContextSnapshot {
        chat.session.last_updated_at = self.clock.now();
        chat.context = ContextSnapshot { sequence: chat.session.last_sequence, data };
        chat.context_version += 1;
        self.tell_change(chat);
        chat.context.clone()
    }
}
