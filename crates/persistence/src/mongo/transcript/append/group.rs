//! Sends the groups of a chat's queue, and answers each append as if it had been sent alone.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use records::{ChatId, EventId, Scope};
use tokio::time::timeout_at;
use tracing::Instrument as _;

use crate::mongo::MongoStore;
use crate::mongo::documents::Tail;
use crate::mongo::engine::calls::Attempt;
use crate::mongo::engine::failure::{ErrorClass, Failure, classify_error};
use crate::mongo::transcript::append::probe::answer_without_write;
use crate::mongo::transcript::append::push::{Condition, Pushed};
use crate::mongo::transcript::append::queue::{Group, QueueRunner, WaitingAppend};
use crate::rules::batch::{Entry, Known, Plan};
use crate::store::Append;
use crate::{BoxError, StoreError};

/// The result of one append.
type Answer = Result<Append, StoreError>;

/// The database did not answer before the deadline of a group.
struct DatabaseUnavailable;

impl MongoStore {
    /// Serves the queue of a chat until it is empty.
    pub(crate) async fn serve(self, mut serving: QueueRunner) {
        let mut is_unavailable = false;
        while let Some(group) = serving.next_group() {
            if is_unavailable {
                // Nothing is sent while no server answers. An append whose caller gives up now was
                // therefore not sent, and gets `Unavailable` instead of `OutcomeUnknown`.
                drop(timeout_at(group.deadline(), self.wait_until_server_answers()).await);
            }
            let span = group.span();
            let served = self.serve_group(serving.chat_id(), group).instrument(span);
            is_unavailable = served.await.is_err();
            // The callers just answered may append again. Yielding lets these appends join the next
            // group; otherwise they would wait for one more update.
            tokio::task::yield_now().await;
        }
    }

    async fn serve_group(&self, chat_id: &ChatId, group: Group) -> Result<(), DatabaseUnavailable> {
        match self.append_group(chat_id, &group).await {
            Ok(answers) => group.answer(answers),
            Err(StoreError::Unavailable { retry_after, source }) => {
                let source = Shared(Arc::new(source));
                let error = || source.clone().into();
                group.refuse(|| StoreError::Unavailable { retry_after, source: error() });
                return Err(DatabaseUnavailable);
            }
            Err(StoreError::OutcomeUnknown { source }) => {
                let source = Shared(Arc::new(source));
                let error = || source.clone().into();
                group.refuse(|| StoreError::OutcomeUnknown { source: error() });
                return Err(DatabaseUnavailable);
            }
            Err(error) if group.len() == 1 => group.answer(vec![Err(error)]),
            // The members are sent one by one, so that only the member at fault fails.
            Err(_) => {
                // If the database becomes unavailable meanwhile, the other members are still tried.
                let mut is_unavailable = false;
                for alone in group.split() {
                    if is_unavailable {
                        drop(timeout_at(alone.deadline(), self.wait_until_server_answers()).await);
                    }
                    is_unavailable = Box::pin(self.serve_group(chat_id, alone)).await.is_err();
                }
                if is_unavailable {
                    return Err(DatabaseUnavailable);
                }
            }
        }
        Ok(())
    }

    /// Appends a group; returns an answer for each member that was not withdrawn before it was sent.
    async fn append_group(
        &self,
        chat_id: &ChatId,
        group: &Group,
    ) -> Result<Vec<Answer>, StoreError> {
        self.append_until(group.deadline(), |attempt| async move {
            let sent = group.send();
            let outcome = self.append_group_once(chat_id, &sent, &attempt).await;
            if let Err(Failure::Driver(error)) = &outcome
                && !attempt.may_have_applied()
                && classify_error(error) == ErrorClass::NotApplied
            {
                // Nothing was stored, so a caller may withdraw its append again before the next attempt.
                group.recall();
            }
            outcome
        })
        .await
    }

    /// Appends the members that were sent, within one attempt.
    ///
    /// An update that matches nothing does not say why, so the session is read. Members that are stored
    /// already or are refused get their answers, and the update is sent again for the others.
    async fn append_group_once(
        &self,
        chat_id: &ChatId,
        sent: &[&WaitingAppend],
        attempt: &Attempt,
    ) -> Result<Vec<Answer>, Failure> {
        let Some(scope) = sent.first().map(|waiting| &waiting.scope) else {
            return Ok(Vec::new());
        };
        // Ids that were minted for this call can only have been stored by an earlier attempt of it.
        let mut may_repeat =
            !attempt.is_first || sent.iter().any(|waiting| waiting.batch.has_given_ids());
        let mut open = OpenAppends::new(chat_id, sent);
        // The sealed messages below this sequence were searched for the ids of this group.
        let mut looked_below = None;
        // Where the tail began when the session was last probed.
        let mut probed = 0;
        while !open.is_answered() {
            let recall = self.inner.chat_cache.recall(chat_id, &open.event_ids());
            // The filter of an update sees only the ids in the tail. If one of the ids may be among the
            // remembered ones, the sealed messages are searched before the first update.
            // An update that depends on the number of messages does not compare ids.
            let expected = scope.expected_last_sequence;
            let may_hold = recall.may_hold || expected.is_some();
            let may_be_there = may_repeat && may_hold && looked_below.is_none();
            let looked = looked_below.unwrap_or(0);
            // No message below this sequence has the id of a new message.
            let sealed_below = if recall.may_hold { looked } else { looked.max(recall.below) };
            let condition = match expected {
                Some(last_sequence) => Condition::NothingAppended { last_sequence },
                None if may_repeat => Condition::NoneOfTheIds { sealed_below },
                None => Condition::NewIds { first_sequence: recall.first_sequence.max(probed) },
            };
            let plans = open.plans();
            let fresh: Vec<&Entry> = plans
                .iter()
                .filter_map(|(_, plan)| plan.as_ref().ok())
                .flat_map(Plan::fresh)
                .collect();
            if !may_be_there {
                match self.push(scope, chat_id, &fresh, condition).await? {
                    Pushed::Stored(tail) => {
                        self.inner.metrics.appends.stored(plans.len(), fresh.len());
                        open.answer_stored(plans, tail.last_sequence - fresh.len() as u64);
                        break;
                    }
                    Pushed::Unknown { absent_below } => {
                        attempt.note_unknown_write();
                        open.absent_below = open.absent_below.min(absent_below);
                        may_repeat = true;
                        continue;
                    }
                    Pushed::NotMatched => {}
                }
            }
            let probe = self.probe_session(scope, chat_id).await?;
            probed = probe.tail.first_sequence;
            if may_repeat && (may_hold || probe.tail.first_sequence > sealed_below) {
                let ids = open.event_ids();
                open.learn(self.find_sealed_duplicates(scope, chat_id, ids, &probe).await?);
                looked_below = Some(probe.tail.first_sequence);
            }
            open.learn(probe.in_tail);
            if open.is_all_new() {
                attempt.note_nothing_applied();
            }
            open.resolve(&probe.tail);
            if !open.is_answered() {
                self.seal_if_too_large(scope, chat_id, &probe.tail).await?;
            }
        }
        Ok(open.into_answers())
    }
}

/// The unanswered appends, by their index in the group, each with its plan or its conflict.
type Plans<'a> = Vec<(usize, Result<Plan<'a>, StoreError>)>;

/// The appends of a group, until each has its answer.
struct OpenAppends<'a> {
    chat_id: &'a ChatId,
    sent: &'a [&'a WaitingAppend],
    answers: Vec<Option<Answer>>,
    /// The messages that were found in the chat.
    known: Vec<Known>,
    /// Messages of the group at or above this sequence were stored by this call.
    absent_below: u64,
}

impl<'a> OpenAppends<'a> {
    fn new(chat_id: &'a ChatId, sent: &'a [&'a WaitingAppend]) -> Self {
        let answers = sent.iter().map(|_| None).collect();
        Self { chat_id, sent, answers, known: Vec::new(), absent_below: u64::MAX }
    }

    fn scope(&self, index: usize) -> &'a Scope {
        &self.sent[index].scope
    }

    fn is_answered(&self) -> bool {
        self.answers.iter().all(Option::is_some)
    }

    fn open(&self) -> impl Iterator<Item = (usize, &'a WaitingAppend)> {
        let open = self.answers.iter().enumerate().filter(|(_, answer)| answer.is_none());
        open.map(|(index, _)| (index, self.sent[index]))
    }

    /// Adds messages that were found in the chat.
    fn learn(&mut self, known: Vec<Known>) {
        self.known.extend(known.into_iter().map(|known| {
            let is_ours = known.sequence >= self.absent_below;
            Known { is_ours, ..known }
        }));
    }

    fn event_ids(&self) -> Vec<&'a str> {
        let ids = self.open().flat_map(|(_, waiting)| waiting.batch.event_ids());
        ids.map(EventId::as_str).collect()
    }

    /// Returns whether no unanswered message was found in the chat: then no update of this call has
    /// stored any of them.
    fn is_all_new(&self) -> bool {
        let ids = self.event_ids();
        self.known.iter().all(|known| !ids.contains(&known.event_id.as_str()))
    }

    /// Plans each unanswered append, or refuses it if it conflicts with a message that was found.
    fn plans(&self) -> Plans<'a> {
        let plan = |(index, waiting): (usize, &'a WaitingAppend)| {
            (index, waiting.batch.plan(self.chat_id, &self.known))
        };
        self.open().map(plan).collect()
    }

    /// Answers the planned appends: an update gave their new messages the sequences from `first_sequence` on.
    fn answer_stored(&mut self, plans: Plans<'a>, first_sequence: u64) {
        let mut next = first_sequence;
        for (index, plan) in plans {
            self.answers[index] = Some(plan.map(|plan| {
                let first = next;
                next += plan.fresh().count() as u64;
                plan.answer(first, next)
            }));
        }
    }

    /// Answers the appends that have nothing to store or are refused.
    fn resolve(&mut self, tail: &Tail) {
        for (index, plan) in self.plans() {
            self.answers[index] = match plan {
                Ok(plan) => answer_without_write(self.scope(index), self.chat_id, &plan, tail),
                Err(conflict) => Some(Err(conflict)),
            };
        }
    }

    fn into_answers(self) -> Vec<Answer> {
        self.answers.into_iter().flatten().collect()
    }
}

/// The cause of an error that several callers get.
#[derive(Debug, Clone)]
struct Shared(Arc<BoxError>);

impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Error for Shared {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.0.source()
    }
}
