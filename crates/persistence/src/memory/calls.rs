use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{ChatId, ChatStatus, NewProviderCall, ProviderCall, Scope, Usage};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::billing::Bill;
use crate::rules::call_batch::{CallBatch, DigestedCall};
use crate::store::{Billing, CallCursor, CallPage, CallSummary, Calls, Payment, Recording};

#[async_trait]
impl Calls for MemoryStore {
    async fn record_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
        billing: Billing,
    ) -> Result<Recording, StoreError> {
        self.observe(Call::RecordCalls, || {
            let now = self.clock.now();
            let batch = CallBatch::check(calls, now, &*self.ids)?;
            self.with_chat(scope, chat_id, |chat| {
                let (fresh, calls) = batch.plan(chat_id, &chat.calls)?;
                let fresh: Vec<DigestedCall> = fresh.into_iter().cloned().collect();
                let payment = self.keep_calls(scope, chat, fresh, billing, now)?;
                Ok(Recording { calls, payment })
            })
        })
        .await
    }

    async fn list_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError> {
        self.observe(Call::ListCalls, || {
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
        })
        .await
    }

    async fn summarize_calls(
        &self,
        scope: &Scope,
        chat_ids: &[ChatId],
    ) -> Result<Vec<CallSummary>, StoreError> {
        self.observe(Call::SummarizeCalls, || {
            let chats = self.chats();
            let permitted = chat_ids.iter().filter_map(|chat_id| chats.get(chat_id));
            let permitted = permitted.filter(|chat| chat.permits(scope));
            let summary = |chat: &Chat| CallSummary {
                chat_id: chat.session.chat_id.clone(),
                usage: chat.usage(),
                newest: chat
                    .calls
                    .iter()
                    .map(|kept| &kept.call)
                    .max_by_key(|call| (call.called_at, &call.call_id))
                    .cloned(),
            };
            Ok(permitted.map(summary).collect())
        })
        .await
    }

    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError> {
        self.observe(Call::ChatUsage, || self.with_chat(scope, chat_id, |chat| Ok(chat.usage())))
            .await
    }
}

impl MemoryStore {
    /// Stores new calls, and debits the wallet for them.
    pub(super) fn keep_calls(
        &self,
        scope: &Scope,
        chat: &mut Chat,
        calls: Vec<DigestedCall>,
        billing: Billing,
        now: DateTime<Utc>,
    ) -> Result<Payment, StoreError> {
        if calls.is_empty() {
            return Ok(Payment::None);
        }
        let recording_id = self.ids.mint("recording_");
        let fresh: Vec<&DigestedCall> = calls.iter().collect();
        let payment = match Bill::of(&chat.session, &fresh, billing, &recording_id) {
            Some(bill) => self.pay(scope, &bill)?,
            None => Payment::None,
        };
        if let Payment::Unpaid { balance, amount } = payment
            && chat.session.status == ChatStatus::Running
        {
            let reason = Bill::pause_reason(balance, amount);
            chat.change_status(ChatStatus::Paused, Some(&reason), now);
            self.notify_change(chat);
        }
        self.count(&chat.session, now);
        chat.calls.extend(calls);
        self.notify_usage(chat);
        Ok(payment)
    }
}
