use async_trait::async_trait;
use records::{AuditAction, CallId, ChatId, MessageBody, NewMessage, NewProviderCall, Scope};
use serde_json::Value;

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::audit::Audited;
use crate::rules::call_batch::DigestedCall;
use crate::rules::exchange_batch::ExchangeBatch;
use crate::store::{Billing, Exchange, Exchanges};

#[async_trait]
impl Exchanges for MemoryStore {
    async fn append_exchange(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        call: NewProviderCall,
        billing: Billing,
    ) -> Result<Exchange, StoreError> {
        self.observe(Call::AppendExchange, || {
            let now = self.clock.now();
            let exchange = ExchangeBatch::check(&scope.caller, messages, call, now, &*self.ids)?;
            self.metrics.appends.given(&exchange.messages);
            self.with_chat(scope, chat_id, |chat| {
                let (fresh, mut recorded) = exchange.calls.plan(chat_id, &chat.calls)?;
                let fresh: Vec<DigestedCall> = fresh.into_iter().cloned().collect();
                let append =
                    self.store(scope, chat, &exchange.messages.plan(chat_id, &chat.known())?)?;
                let payment = self.keep_calls(scope, chat, fresh, billing, now)?;
                Ok(Exchange { append, call: recorded.remove(0), payment })
            })
        })
        .await
    }

    async fn delete_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), StoreError> {
        self.observe(Call::DeleteCall, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                let Some(index) = chat.calls.iter().position(|kept| kept.call.call_id == *call_id)
                else {
                    return Ok(());
                };
                let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::DeleteCall);
                self.add_audit_entry(&audited, now)?;
                chat.calls.remove(index);
                let mut unlinked = Vec::new();
                for kept in &mut chat.messages {
                    if let Some(link) = kept.message.body.extra.get_mut(MessageBody::PRODUCED_BY)
                        && link == call_id.as_str()
                    {
                        *link = Value::Null;
                        unlinked.push(kept.message.sequence);
                    }
                }
                for sequence in unlinked {
                    chat.note_edit(sequence);
                }
                self.notify_change(chat);
                self.notify_usage(chat);
                self.count(&chat.session, now);
                Ok(())
            })
        })
        .await
    }
}
