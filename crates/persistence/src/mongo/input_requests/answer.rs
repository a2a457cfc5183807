//! The answer to an input request: a message, in one transaction with the request it closes.

use records::{ChatId, EventId, InputRequestId, Scope};

use crate::mongo::MongoStore;
use crate::mongo::documents::StoredInput;
use crate::mongo::engine::failure::Failure;
use crate::mongo::transcript::append::{Condition, Push, verdict};
use crate::rules::input::{Reply, Verdict};
use crate::store::{AnsweredInput, Outcome};

impl MongoStore {
    pub(crate) async fn answer(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reply: &Reply,
        answering_id: &str,
    ) -> Result<AnsweredInput, Failure> {
        let mut from = 0;
        loop {
            let chat = self.known_chat(scope, chat_id).await?;
            let StoredInput { kept, answering_id: answered_by, .. } =
                self.known_input(scope, chat_id, request_id).await?;
            let now = self.inner.clock.now();
            match kept.judge(reply, now)? {
                Verdict::Take => {}
                Verdict::Repeat { sequence } => {
                    let is_ours = answered_by.as_deref() == Some(answering_id);
                    let outcome = if is_ours { Outcome::Stored } else { Outcome::Duplicate };
                    let append = reply.append(sequence, outcome, chat.last_sequence);
                    return Ok(AnsweredInput { request: kept.request, append });
                }
                Verdict::Expire => {
                    self.close_overdue(scope, &chat, &kept).await?;
                    continue;
                }
            }
            let look = self.look(scope, chat_id).await?;
            let ids = reply.batch.event_ids().map(EventId::as_str).collect();
            let mut known = self.look_below(scope, chat_id, ids, &look).await?;
            known.extend(look.in_tail);
            let plan = reply.batch.plan(chat_id, &known)?;
            // Somebody may have appended it, without an answer in mind.
            let appended = verdict(scope, chat_id, &plan, &look.tail).transpose()?;
            self.make_room(scope, chat_id, &look.tail).await?;

            let fresh: Vec<_> = plan.fresh().collect();
            let condition = Condition::NoneOfTheIds { sealed_below: look.tail.first_sequence };
            let push = Push::of(scope, chat_id, &fresh, condition, now);
            let stripe = self.stripe(&chat.app_id, &chat.workflow_name, from).await;
            let mut session = self.begin().await?;
            let work = async {
                // First, so that appends which come meanwhile wait for this, and not the reverse.
                let (append, tail) = match &appended {
                    Some(append) => (append.clone(), None),
                    None => match self.push_within(&push, &mut session).await? {
                        Some(tail) => {
                            let counter = tail.last_sequence;
                            (plan.answer(counter - 1, counter), Some(tail))
                        }
                        None => return Ok(None),
                    },
                };
                let closing = reply.closing(append.messages[0].sequence, now);
                let answered = Some((answering_id, &reply.entry().digest));
                let session = &mut session;
                let closed =
                    self.close_within(scope, &chat, &kept, &closing, answered, &stripe, session);
                let request = closed.await?;
                Ok(request.map(|request| (AnsweredInput { request, append }, tail)))
            };
            let worked = work.await;
            if let Some((answered, tail)) = self.conclude(session, worked).await? {
                if let Some(tail) = tail {
                    self.inner.metrics.appends.stored(1, 1);
                    self.is_pushed(&push, &tail);
                }
                self.tell_change(chat_id);
                return Ok(answered);
            }
            self.check_fence(scope, chat_id).await?;
            from = stripe.number() + 1;
        }
    }
}
