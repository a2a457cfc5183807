//! Messages and the call that produced them, in one transaction.

use async_trait::async_trait;
use bson::doc;
use records::{CallId, ChatId, EventId, NewMessage, NewProviderCall, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::calls::{Earlier, Marked};
use crate::mongo::documents::{call_key, call_record, open_call};
use crate::mongo::engine::failure::Failure;
use crate::mongo::stats::Counted;
use crate::mongo::transcript::append::{Condition, Push, verdict};
use crate::rules::exchange_batch::ExchangeBatch;
use crate::store::{Billing, Exchange, Exchanges};

#[async_trait]
impl Exchanges for MongoStore {
    async fn append_exchange(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        call: NewProviderCall,
        billing: Billing,
    ) -> Result<Exchange, StoreError> {
        let (clock, ids) = (&self.inner.clock, &self.inner.ids);
        let exchange = ExchangeBatch::check(&scope.caller, messages, call, clock.now(), &**ids)?;
        self.inner.metrics.appends.given(&exchange.messages);
        let recording = &Marked { id: ids.mint("recording_"), billing };
        let write = |_| self.append_exchange_once(scope, chat_id, &exchange, recording);
        let appended = self.write(write).await;
        self.fenced_if_late(scope, chat_id, appended).await
    }

    async fn delete_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), StoreError> {
        self.write(|attempt| async move {
            match self.delete_call_once(scope, chat_id, call_id).await {
                // By an earlier attempt, or by somebody else: it is gone.
                Err(Failure::Decided(StoreError::CallNotFound { .. })) if !attempt.is_first => {
                    Ok(())
                }
                deleted => deleted,
            }
        })
        .await
    }
}

impl MongoStore {
    async fn append_exchange_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        exchange: &ExchangeBatch,
        recording: &Marked,
    ) -> Result<Exchange, Failure> {
        let ExchangeBatch { messages, calls } = exchange;
        let mut from = 0;
        loop {
            let chat = self.known_chat(scope, chat_id).await?;
            let (known, earlier) = self.known_calls(scope, chat_id, calls, recording).await?;
            let (fresh_calls, recorded) = calls.plan(chat_id, &known)?;
            let call = recorded
                .into_iter()
                .next()
                .ok_or_else(|| Failure::Unsafe("there is no call".into()))?;
            let look = self.look(scope, chat_id).await?;
            let ids = messages.event_ids().map(EventId::as_str).collect();
            let mut known = self.look_below(scope, chat_id, ids, &look).await?;
            known.extend(look.in_tail);
            let settled = self.settled(&chat, &fresh_calls, earlier, recording).await?;
            if earlier == Earlier::Done {
                for known in &mut known {
                    known.is_ours = true;
                }
            }
            let plan = messages.plan(chat_id, &known)?;
            let fresh: Vec<_> = plan.fresh().collect();
            if let Some(verdict) = verdict(scope, chat_id, &plan, &look.tail) {
                let append = verdict?;
                if let Some(payment) = settled {
                    return Ok(Exchange { append, call, payment });
                }
            }
            self.make_room(scope, chat_id, &look.tail).await?;

            let condition = Condition::NoneOfTheIds { sealed_below: look.tail.first_sequence };
            let push = Push::of(scope, chat_id, &fresh, condition, self.inner.clock.now());
            let stripe = self.stripe(&chat.app_id, &chat.workflow_name, from).await;
            let mut session = self.begin().await?;
            let work = async {
                // First, so that appends which come meanwhile wait for this, and not the reverse.
                let mut tail = look.tail;
                if !fresh.is_empty() {
                    let Some(pushed) = self.push_within(&push, &mut session).await? else {
                        return Ok(None);
                    };
                    tail = pushed;
                }
                if let Some(payment) = settled {
                    return Ok(Some((tail, payment)));
                }
                let session = &mut session;
                let work = self.insert_calls(&chat, &fresh_calls, recording, &stripe, session);
                Ok(work.await?.map(|payment| (tail, payment)))
            };
            let worked = work.await;
            if let Some((tail, payment)) = self.conclude(session, worked).await? {
                if !fresh.is_empty() {
                    self.inner.metrics.appends.stored(1, fresh.len());
                    self.is_pushed(&push, &tail);
                }
                self.tell_payment(chat_id, &payment);
                self.tell_usage(chat_id);
                let first_sequence = tail.last_sequence - fresh.len() as u64;
                let append = plan.answer(first_sequence, tail.last_sequence);
                return Ok(Exchange { append, call, payment });
            }
            self.check_fence(scope, chat_id).await?;
            from = stripe.number() + 1;
        }
    }

    async fn delete_call_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let one = doc! { "_id": call_key(chat_id, call_id), "app_id": scope.app_id.as_str() };
        let mut from = 0;
        loop {
            let stripe = self.stripe(&chat.app_id, &chat.workflow_name, from).await;
            let mut session = self.begin().await?;
            let work = async {
                self.unlink_within(scope, chat_id, call_id, &mut session).await?;
                let calls = &self.inner.provider_calls;
                let Some(raw) =
                    calls.find_one_and_delete(one.clone()).session(&mut session).await?
                else {
                    let (chat_id, call_id) = (chat_id.clone(), call_id.clone());
                    return Err(StoreError::CallNotFound { chat_id, call_id }.into());
                };
                let call = call_record(&open_call(&raw)?)?.call;
                self.count_calls(&Counted::of(&chat), &[&call], -1, &stripe, &mut session).await
            };
            let worked = work.await.map(Some);
            if self.conclude(session, worked).await?.is_some() {
                self.tell_change(chat_id);
                self.tell_usage(chat_id);
                return Ok(());
            }
            from = stripe.number() + 1;
        }
    }
}
