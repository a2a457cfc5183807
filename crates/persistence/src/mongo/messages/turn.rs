//! Turns: one update where there is nothing to resume from, and one transaction otherwise.

use bson::doc;
use mongodb::ClientSession;
use records::{ChatId, EventId, Limits, ResumePoint, Scope};

use super::append::{Condition, Push, Pushed, refusal};
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::attempts::Attempt;
use crate::mongo::documents::{Tail, open_point, point_document, points_of};
use crate::mongo::failure::Failure;
use crate::store::{AppendedTurn, Outcome};
use crate::turn_batch::TurnBatch;

impl MongoStore {
    pub(in crate::mongo) async fn write_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
        attempt: Attempt,
    ) -> Result<AppendedTurn, Failure> {
        if attempt.is_first
            && turn.fits_one_update()
            && let Some(appended) = self.write_new_turn(scope, chat_id, turn).await?
        {
            return Ok(appended);
        }
        loop {
            let look = self.look(scope, chat_id).await?;
            let tail = look.tail;
            let ids: Vec<_> = turn.messages.event_ids().map(EventId::as_str).collect();
            let mut known = self.look_below(scope, chat_id, ids, &look).await?;
            known.extend(look.in_tail);
            let plan = turn.messages.plan(chat_id, &known)?;
            let fresh: Vec<_> = plan.fresh().collect();
            if fresh.is_empty() && self.is_written(scope, chat_id, turn).await? {
                let append = plan.answer(tail.last_sequence, tail.last_sequence);
                return Ok(turn.answer(append, Outcome::Duplicate));
            }
            if let Some(refusal) = refusal(scope, chat_id, &tail) {
                return Err(refusal.into());
            }
            self.make_room(scope, chat_id, &tail).await?;

            let condition = Condition::NoneOfTheIds { sealed_below: tail.first_sequence };
            let push = Push::of(scope, chat_id, &fresh, condition, self.inner.clock.now());
            let push = push.of_turn(&turn.mark);
            let written = if turn.fits_one_update() {
                match self.carry_out(&push).await? {
                    Pushed::Stored(tail) => Some(tail),
                    Pushed::Unfit | Pushed::Unsure { .. } => None,
                }
            } else {
                let mut session = self.begin().await?;
                let worked = self.turn_within(&push, turn, &mut session).await;
                let written = self.conclude(session, worked).await?;
                written.inspect(|tail| self.is_pushed(&push, tail))
            };
            if let Some(tail) = written {
                self.inner.metrics.appends.stored(1, fresh.len());
                let append =
                    plan.answer(tail.last_sequence - fresh.len() as u64, tail.last_sequence);
                return Ok(turn.answer(append, Outcome::Stored));
            }
        }
    }

    /// Writes a turn of which this process knows no message; `None`: it has to look.
    async fn write_new_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
    ) -> Result<Option<AppendedTurn>, Failure> {
        let ids: Vec<_> = turn.messages.event_ids().map(EventId::as_str).collect();
        let recall = self.inner.known_chats.recall(chat_id, &ids);
        if recall.may_hold {
            return Ok(None);
        }
        let plan = turn.messages.plan(chat_id, &[])?;
        let fresh: Vec<_> = plan.fresh().collect();
        let condition = Condition::NoneOfTheIds { sealed_below: recall.below };
        let push = Push::of(scope, chat_id, &fresh, condition, self.inner.clock.now());
        let Pushed::Stored(tail) = self.carry_out(&push.of_turn(&turn.mark)).await? else {
            return Ok(None);
        };
        self.inner.metrics.appends.stored(1, fresh.len());
        let append = plan.answer(tail.last_sequence - fresh.len() as u64, tail.last_sequence);
        Ok(Some(turn.answer(append, Outcome::Stored)))
    }

    /// Tells whether a turn is written whose messages, if it has any, are.
    async fn is_written(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
    ) -> Result<bool, Failure> {
        if turn.messages.len() > 0 {
            return Ok(true);
        }
        let request_id = &turn.mark.request_id;
        let find = self.inner.resume_points.find_one(points_of(scope, chat_id, request_id));
        let Some(raw) = find.sort(doc! { "turn": 1, "_id.sequence": 1 }).await? else {
            return Ok(false);
        };
        if open_point(&raw)?.bytes("digest")? == turn.digest {
            return Ok(true);
        }
        let (chat_id, request_id) = (chat_id.clone(), request_id.clone());
        Err(StoreError::TurnConflict { chat_id, request_id }.into())
    }

    /// Writes messages and resume points within a transaction; `None`: something is not as it was seen.
    async fn turn_within(
        &self,
        push: &Push<'_>,
        turn: &TurnBatch,
        session: &mut ClientSession,
    ) -> Result<Option<Tail>, Failure> {
        let pushed = if turn.is_large() {
            self.push_segments_within(push, session).await?
        } else {
            self.push_within(push, session).await?
        };
        let Some(tail) = pushed.filter(|_| !turn.points.is_empty()) else { return Ok(pushed) };
        let (scope, chat_id) = push.place();
        let points = turn.points.iter().map(|(sequence, step)| {
            let point = ResumePoint {
                chat_id: chat_id.clone(),
                request_id: turn.mark.request_id.clone(),
                turn: tail.turns,
                sequence: *sequence,
                step: step.clone(),
                created_at: push.now(),
            };
            point_document(scope, &point, &turn.digest)
        });
        let points = points.collect::<Result<Vec<_>, _>>()?;
        self.inner.resume_points.insert_many(points).session(session).await?;
        Ok(pushed)
    }
}

impl TurnBatch {
    fn is_large(&self) -> bool {
        self.messages.len() > Limits::BATCH_MESSAGES || self.messages.bytes() > Limits::BATCH_BYTES
    }

    fn fits_one_update(&self) -> bool {
        self.points.is_empty() && !self.is_large()
    }
}
