//! Messages and the call that produced them, written in one transaction.

use async_trait::async_trait;
use bson::doc;
use records::{AuditAction, CallId, ChatId, NewMessage, NewProviderCall, Scope};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::calls::{EarlierAttempt, RecordingMark};
use crate::mongo::documents::{Tail, call_key, call_record, open_call};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::stats::Counted;
use crate::mongo::transcript::append::{Condition, answer_without_write};
use crate::mongo::transcript::unlink::Progress;
use crate::rules::audit::Audited;
use crate::rules::exchange_batch::ExchangeBatch;
use crate::store::{Appended, Billing, Exchange, Exchanges, Outcome};
use crate::traces;

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
        self.observe(Call::AppendExchange, Some(chat_id), async {
            let (clock, ids) = (&self.inner.clock, &self.inner.ids);
            let exchange =
                ExchangeBatch::check(&scope.caller, messages, call, clock.now(), &**ids)?;
            self.inner.metrics.appends.given(&exchange.messages);
            let recording = RecordingMark { id: ids.mint("recording_"), billing };
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let round = |tx| call.exchange_round(tx, &scope, &chat_id, &exchange, &recording);
                let appended = call.transact(&scope, &chat_id, round).await;
                let appended = call.fenced_if_lease_lost(&scope, &chat_id, appended).await?;
                call.notify_exchange(&scope, &chat_id, &appended);
                Ok(appended.answer)
            })
            .await
        })
        .await
    }

    async fn delete_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), StoreError> {
        self.observe(Call::DeleteCall, Some(chat_id), async {
            let (scope, chat_id, call_id) = (scope.clone(), chat_id.clone(), call_id.clone());
            self.write(|call| async move {
                let mut done = Progress::default();
                // A transaction for each batch of messages; the last one deletes the call.
                while !done.is_complete {
                    let round = |tx| call.delete_call_round(tx, &scope, &chat_id, &call_id, done);
                    done = call.transact(&scope, &chat_id, round).await?;
                    call.notify_change(&chat_id);
                }
                call.notify_usage(&chat_id);
                Ok(())
            })
            .await
        })
        .await
    }
}

/// An exchange that this attempt or an earlier one appended.
struct AppendedExchange {
    answer: Exchange,
    /// The tail after the append and the number of new messages, if this attempt appended.
    pushed: Option<(Tail, usize)>,
}

impl MongoStore {
    /// Appends the messages and records the call, unless they are already stored.
    async fn exchange_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        exchange: &ExchangeBatch,
        recording: &RecordingMark,
    ) -> Result<Round<AppendedExchange>, Failure> {
        let ExchangeBatch { messages, calls } = exchange;
        let chat = self.known_chat(scope, chat_id).await?;
        let (known, earlier) = self.known_calls(scope, chat_id, calls, recording).await?;
        let (fresh_calls, recorded) = calls.plan(chat_id, &known)?;
        let call = recorded.into_iter().next().ok_or(Failure::Ended("an exchange has no call"))?;
        let (probe, mut known) = self.known_messages(scope, chat_id, messages).await?;
        let prior = self.prior_payment(&chat, &fresh_calls, earlier, recording).await?;
        if earlier == EarlierAttempt::Done {
            for known in &mut known {
                known.is_ours = true;
            }
        } else {
            tx.attempt().note_nothing_applied();
        }
        let plan = messages.plan(chat_id, &known)?;
        let fresh: Vec<_> = plan.fresh().collect();
        if let Some(answer_without_write) = answer_without_write(scope, chat_id, &plan, &probe.tail)
        {
            let append = answer_without_write?;
            if let Some(payment) = prior {
                let answer = Exchange { append, call, payment };
                return Ok(Round::Done(AppendedExchange { answer, pushed: None }));
            }
        }
        self.seal_if_too_large(scope, chat_id, &probe.tail).await?;

        let condition = Condition::NoneOfTheIds { sealed_below: probe.tail.first_sequence };
        let now = self.inner.clock.now();
        let push = self.push_of(scope, chat_id, &fresh, condition, now).await?;
        tx.begin_counted(&chat).await?;
        // The append comes first, so that concurrent appends wait for the transaction, and not the reverse.
        let tail = match fresh.len() {
            0 => probe.tail,
            _ => match self.push_within(&push, &tx).await? {
                Some(tail) => tail,
                None => return Ok(Round::Again),
            },
        };
        let payment = match prior {
            Some(payment) => Round::Done(payment),
            None => self.insert_calls(&tx, &chat, &fresh_calls, recording).await?,
        };
        Ok(payment.map(|payment| {
            let first_sequence = tail.last_sequence - fresh.len() as u64;
            let append = plan.answer(first_sequence, tail.last_sequence);
            let answer = Exchange { append, call, payment };
            AppendedExchange { answer, pushed: Some((tail, fresh.len())) }
        }))
    }

    /// Records a committed append, and notifies the subscribers of its chat.
    fn notify_exchange(&self, scope: &Scope, chat_id: &ChatId, appended: &AppendedExchange) {
        let Some((tail, fresh)) = &appended.pushed else { return };
        if *fresh > 0 {
            self.inner.metrics.appends.stored(1, *fresh);
            let first_sequence = tail.last_sequence - *fresh as u64;
            let ids = appended.answer.append.messages.iter();
            let is_new = |message: &&Appended| {
                message.outcome == Outcome::Stored && message.sequence >= first_sequence
            };
            let ids = ids.filter(is_new);
            let ids: Vec<&str> = ids.map(|message| message.event_id.as_str()).collect();
            self.record_append(scope, chat_id, &ids, tail);
        }
        self.notify_payment(chat_id, &appended.answer.payment);
        self.notify_usage(chat_id);
        let recorded = Some(&appended.answer.call).filter(|it| it.outcome == Outcome::Stored);
        traces::recorded(&scope.app_id, chat_id, recorded.map(|it| &it.call));
    }

    /// Unlinks one batch of messages from a call. The last round also deletes the call and updates the stats.
    async fn delete_call_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
        done: Progress,
    ) -> Result<Round<Progress>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let one = doc! { "_id": call_key(chat_id, call_id), "app_id": scope.app_id.as_str() };
        if self.inner.provider_calls.find_one(one.clone()).await?.is_none() {
            self.check_fence(scope, chat_id).await?;
            return Ok(Round::Done(done.completed()));
        }
        let audited = Audited::in_scope(scope, Some(chat_id), AuditAction::DeleteCall);
        let entry = self.audit_document(&audited).await?;
        tx.begin_counted(&chat).await?;
        let done = self.unlink_within(&tx, scope, chat_id, call_id, done).await?;
        let calls = &self.inner.provider_calls;
        let found = if done.is_complete {
            calls.find_one_and_delete(one).session(&mut *tx.session().await?).await?
        } else {
            calls.find_one(one).session(&mut *tx.session().await?).await?
        };
        let Some(raw) = found else {
            // Another request has deleted it since.
            return Ok(Round::Done(done.completed()));
        };
        if done.is_complete {
            let call = call_record(&open_call(&raw)?)?.call;
            self.count_calls(&Counted::of(&chat), &[&call], -1, &tx).await?;
            self.insert_audit_document(&tx, &entry).await?;
        }
        Ok(Round::Done(done))
    }
}
