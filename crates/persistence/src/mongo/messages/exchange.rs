//! Messages and the call that produced them, in one transaction.

use async_trait::async_trait;
use bson::doc;
use records::{CallId, ChatId, EventId, NewMessage, NewProviderCall, Scope};

use super::append::{Condition, Push, verdict};
use crate::StoreError;
use crate::exchange_batch::ExchangeBatch;
use crate::mongo::MongoStore;
use crate::mongo::documents::{call_key, call_record, open_call};
use crate::mongo::failure::Failure;
use crate::mongo::scope::writable_chat;
use crate::mongo::stats::Counted;
use crate::store::{Exchange, Exchanges};

#[async_trait]
impl Exchanges for MongoStore {
    async fn append_exchange(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        call: NewProviderCall,
    ) -> Result<Exchange, StoreError> {
        let (clock, ids) = (&self.inner.clock, &self.inner.ids);
        let exchange = ExchangeBatch::check(messages, call, clock.now(), &**ids)?;
        self.inner.metrics.appends.given(&exchange.messages);
        let recording_id = ids.mint("recording_");
        self.write(|_| self.append_exchange_once(scope, chat_id, &exchange, &recording_id)).await
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
        recording_id: &str,
    ) -> Result<Exchange, Failure> {
        let ExchangeBatch { messages, calls } = exchange;
        let (workflow_name, created_at) = self.counted_chat(scope, chat_id).await?;
        let app_id = &scope.app_id;
        let chat = Counted { app_id, workflow_name: &workflow_name, chat_id, created_at };
        let mut from = 0;
        loop {
            let (known, is_done) = self.known_calls(scope, chat_id, calls, recording_id).await?;
            let (mut fresh_calls, recorded) = calls.plan(chat_id, &known)?;
            let call = recorded
                .into_iter()
                .next()
                .ok_or_else(|| Failure::Unsafe("there is no call".into()))?;
            let look = self.look(scope, chat_id).await?;
            let ids = messages.event_ids().map(EventId::as_str).collect();
            let mut known = self.look_below(scope, chat_id, ids, &look).await?;
            known.extend(look.in_tail);
            if is_done {
                fresh_calls.clear();
                for known in &mut known {
                    known.is_ours = true;
                }
            }
            let plan = messages.plan(chat_id, &known)?;
            let fresh: Vec<_> = plan.fresh().collect();
            if let Some(settled) = verdict(chat_id, &plan, &look.tail) {
                let append = settled?;
                if fresh_calls.is_empty() {
                    return Ok(Exchange { append, call });
                }
            }
            self.make_room(scope, chat_id, &look.tail).await?;

            let condition = Condition::NoneOfTheIds { sealed_below: look.tail.first_sequence };
            let push = Push::of(scope, chat_id, &fresh, condition, self.inner.clock.now());
            let stripe = self.stripe(app_id, &workflow_name, from).await;
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
                if !fresh_calls.is_empty() {
                    self.insert_calls(&chat, &fresh_calls, recording_id, &stripe, &mut session)
                        .await?;
                }
                Ok(Some(tail))
            };
            let worked = work.await;
            if let Some(tail) = self.conclude(session, worked).await?.flatten() {
                if !fresh.is_empty() {
                    self.inner.metrics.appends.stored(1, fresh.len());
                    self.is_pushed(&push, &tail);
                }
                let first_sequence = tail.last_sequence - fresh.len() as u64;
                return Ok(Exchange {
                    append: plan.answer(first_sequence, tail.last_sequence),
                    call,
                });
            }
            from = stripe.number() + 1;
        }
    }

    async fn delete_call_once(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), Failure> {
        let (workflow_name, created_at) = self.counted_chat(scope, chat_id).await?;
        let app_id = &scope.app_id;
        let chat = Counted { app_id, workflow_name: &workflow_name, chat_id, created_at };
        let one = doc! { "_id": call_key(chat_id, call_id), "app_id": app_id.as_str() };
        let link = "messages.produced_by_call_id";
        let nothing = doc! { "messages.$[produced].produced_by_call_id": null };
        let of_call = || doc! { "produced.produced_by_call_id": call_id.as_str() };
        let mut from = 0;
        loop {
            let stripe = self.stripe(app_id, &workflow_name, from).await;
            let mut session = self.begin().await?;
            let work = async {
                // First, so that appends which come meanwhile wait for this, and not the reverse.
                let mut tail = writable_chat(scope, chat_id);
                tail.insert(link, call_id.as_str());
                let unlink = doc! { "$set": nothing.clone(), "$inc": { "revision": 1_i64 } };
                let unlink = self.inner.chat_sessions.update_one(tail, unlink);
                unlink.array_filters([of_call()]).session(&mut session).await?;
                let sealed = doc! {
                    "app_id": app_id.as_str(),
                    "_id.chat_id": chat_id.as_str(),
                    link: call_id.as_str(),
                };
                let unlink = doc! { "$set": nothing.clone(), "$inc": { "edits": 1_i64 } };
                let unlink = self.inner.chat_segments.update_many(sealed, unlink);
                unlink.array_filters([of_call()]).session(&mut session).await?;

                let calls = &self.inner.provider_calls;
                let Some(raw) =
                    calls.find_one_and_delete(one.clone()).session(&mut session).await?
                else {
                    let (chat_id, call_id) = (chat_id.clone(), call_id.clone());
                    return Err(StoreError::CallNotFound { chat_id, call_id }.into());
                };
                let call = call_record(&open_call(&raw)?)?.call;
                self.discount_call(&chat, &call, &stripe, &mut session).await
            };
            let worked = work.await;
            if self.conclude(session, worked).await?.is_some() {
                return Ok(());
            }
            from = stripe.number() + 1;
        }
    }
}
