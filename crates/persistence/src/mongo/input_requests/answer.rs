//! The answer to an input request: its message and the closing of the request, in one transaction.

use records::{ChatId, InputRequestId, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{StoredInput, Tail};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::transcript::append::{Condition, answer_without_write};
use crate::rules::input::{AnswerDecision, Reply};
use crate::store::{AnsweredInput, Outcome};

/// The result of a round for an answer.
enum Answered {
    /// The answer was accepted, now or before.
    Accepted(Box<AnsweredInput>, Option<Tail>),
    /// The request was overdue and has been closed; the next round refuses the answer.
    Expired,
}

impl MongoStore {
    pub(crate) async fn answer(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reply: Reply,
    ) -> Result<AnsweredInput, StoreError> {
        let answering_id = self.inner.ids.mint("answering_");
        let (scope, chat_id) = (scope.clone(), chat_id.clone());
        let request_id = request_id.clone();
        self.write(|call| async move {
            let round =
                |tx| call.answer_round(tx, &scope, &chat_id, &request_id, &reply, &answering_id);
            loop {
                let answered = call.transact(&scope, &chat_id, round).await?;
                call.notify_change(&chat_id);
                let Answered::Accepted(answered, tail) = answered else { continue };
                if let Some(tail) = tail {
                    call.inner.metrics.appends.stored(1, 1);
                    call.record_append(&scope, &chat_id, &[reply.event_id().as_str()], &tail);
                }
                return Ok(*answered);
            }
        })
        .await
    }

    async fn answer_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reply: &Reply,
        answering_id: &str,
    ) -> Result<Round<Answered>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let StoredInput { kept, answering_id: answered_by, .. } =
            self.known_input(scope, chat_id, request_id).await?;
        let is_ours = answered_by.as_deref() == Some(answering_id);
        if !is_ours {
            tx.attempt().note_nothing_applied();
        }
        let now = self.inner.clock.now();
        match kept.decide_answer(reply, now)? {
            AnswerDecision::Take => {}
            AnswerDecision::Repeat { sequence } => {
                let outcome = Outcome::of_found(is_ours);
                let append = reply.append(sequence, outcome, chat.last_sequence);
                let answered = AnsweredInput { request: kept.request, append };
                return Ok(Round::Done(Answered::Accepted(Box::new(answered), None)));
            }
            AnswerDecision::Expire => {
                let closed = self.close_overdue(&tx, scope, &chat, &kept).await?;
                return Ok(closed.map(|_| Answered::Expired));
            }
        }
        let (probe, known) = self.known_messages(scope, chat_id, &reply.batch).await?;
        let plan = reply.batch.plan(chat_id, &known)?;
        // The client may have appended the message before it sent it as an answer.
        let appended = answer_without_write(scope, chat_id, &plan, &probe.tail).transpose()?;
        self.seal_if_too_large(scope, chat_id, &probe.tail).await?;

        let fresh: Vec<_> = plan.fresh().collect();
        let condition = Condition::NoneOfTheIds { sealed_below: probe.tail.first_sequence };
        let push = self.push_of(scope, chat_id, &fresh, condition, now).await?;
        tx.begin_counted(&chat).await?;
        // The append comes first, so that concurrent appends wait for the transaction, and not the
        // reverse.
        let (append, tail) = match appended {
            Some(append) => (append, None),
            None => match self.push_within(&push, &tx).await? {
                Some(tail) => (plan.answer(tail.last_sequence - 1, tail.last_sequence), Some(tail)),
                None => return Ok(Round::Again),
            },
        };
        let closing = reply.closing(append.messages[0].sequence, now);
        let answered = Some((answering_id, &reply.entry().digest));
        let closed = self.close_within(&tx, scope, &chat, &kept, &closing, answered).await?;
        let answered = closed
            .map(|request| Answered::Accepted(Box::new(AnsweredInput { request, append }), tail));
        Ok(Round::of(answered))
    }
}
