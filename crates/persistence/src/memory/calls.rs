use async_trait::async_trait;
use records::{ChatId, NewProviderCall, ProviderCall, Scope, Usage};

use super::MemoryStore;
use crate::StoreError;
use crate::call_batch::{CallBatch, DigestedCall};
use crate::store::{CallCursor, CallPage, Calls, RecordedCall};

#[async_trait]
impl Calls for MemoryStore {
    async fn record_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
    ) -> Result<Vec<RecordedCall>, StoreError> {
        let now = self.clock.now();
        let batch = CallBatch::check(calls, now, &*self.ids)?;
        self.with_chat(scope, chat_id, |chat| {
            let (fresh, answer) = batch.plan(chat_id, &chat.calls)?;
            let fresh: Vec<DigestedCall> = fresh.into_iter().cloned().collect();
            if !fresh.is_empty() {
                self.count(&chat.session, now);
            }
            chat.calls.extend(fresh);
            Ok(answer)
        })
    }

    async fn list_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError> {
        self.with_chat(scope, chat_id, |chat| {
            let calls = chat.calls.iter().map(|kept| kept.call.clone());
            let is_after = |call: &ProviderCall| {
                after.is_none_or(|after| {
                    (call.called_at, &call.call_id) < (after.called_at, &after.call_id)
                })
            };
            let mut calls: Vec<_> = calls.filter(is_after).collect();
            calls.sort_by(|a, b| (b.called_at, &b.call_id).cmp(&(a.called_at, &a.call_id)));
            Ok(CallPage::cut(calls, limit))
        })
    }

    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError> {
        self.with_chat(scope, chat_id, |chat| Ok(chat.usage()))
    }
}
