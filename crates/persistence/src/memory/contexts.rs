use async_trait::async_trait;
use records::{
    ChatId, ContextSnapshot, ContextVersion, JsonObject, KeptContext, Scope, json, merge_patch,
};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::if_match::Versioned;
use crate::store::{Contexts, RecordVersions};

#[async_trait]
impl Contexts for MemoryStore {
    async fn update_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        data: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.observe(Call::UpdateContextSnapshot, || {
            ContextSnapshot::check(&data)?;
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                Versioned::Context.check(scope, chat_id, chat.context_version, true)?;
                self.take(chat, data)
            })
        })
        .await
    }

    async fn merge_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        patch: JsonObject,
    ) -> Result<ContextSnapshot, StoreError> {
        self.observe(Call::MergeContextSnapshot, || {
            json::measure_object(&patch)?;
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                Versioned::Context.check(scope, chat_id, chat.context_version, true)?;
                let mut data = chat.context.data.clone();
                merge_patch(&mut data, &patch);
                self.take(chat, data)
            })
        })
        .await
    }

    async fn record_versions(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<RecordVersions, StoreError> {
        self.observe(Call::RecordVersions, || {
            self.with_chat(scope, chat_id, |chat| {
                let (context, artifact) = (chat.context_version, chat.artifact_version);
                Ok(RecordVersions { context, artifact })
            })
        })
        .await
    }

    async fn load_context_snapshot(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ContextSnapshot, StoreError> {
        self.observe(Call::LoadContextSnapshot, || {
            self.with_chat(scope, chat_id, |chat| Ok(chat.context.clone()))
        })
        .await
    }
}

impl MemoryStore {
    fn take(&self, chat: &mut Chat, data: JsonObject) -> Result<ContextSnapshot, StoreError> {
        let bytes = ContextSnapshot::check(&data)? as u64;
        let (sequence, created_at) = (chat.session.last_sequence, self.clock.now());
        chat.session.last_updated_at = created_at;
        chat.context_version += 1;
        let version = ContextVersion { version: chat.context_version, sequence, created_at, bytes };
        chat.keep(KeptContext { version, data: data.clone() });
        chat.context = ContextSnapshot { sequence, data };
        self.notify_change(chat);
        Ok(chat.context.clone())
    }
}
