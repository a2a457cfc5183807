//! Turns: one update where there is nothing to resume from, and one transaction otherwise.

use bson::doc;
use mongodb::ClientSession;
use records::json::Digest;
use records::{ChatId, EventId, Limits, Scope};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    Tail, open_chat_session, open_point, point_document, points_of, recent_digest,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::retries::Attempt;
use crate::mongo::transcript::append::{Condition, Push, Pushed, refusal};
use crate::rules::batch::Plan;
use crate::rules::turn_batch::TurnBatch;
use crate::store::{AppendedTurn, Outcome};

impl MongoStore {
    pub(crate) async fn write_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
        attempt: Attempt,
    ) -> Result<AppendedTurn, Failure> {
        // Messages of the turn that lie at this sequence or above it were stored by this call.
        let mut absent_below = u64::MAX;
        if attempt.is_first && turn.fits_one_update() {
            match self.write_new_turn(scope, chat_id, turn).await? {
                Tried::Written(appended) => return Ok(appended),
                Tried::Unsure { absent_below: below } => absent_below = below,
                Tried::Unfit => {}
            }
        }
        loop {
            let look = self.look(scope, chat_id).await?;
            let tail = look.tail;
            let first_id = turn.first_message_id().map_err(StoreError::from)?;
            let ids = turn.messages.event_ids().map(EventId::as_str);
            let ids: Vec<_> = ids.chain([first_id.as_str()]).collect();
            let mut known = self.look_below(scope, chat_id, ids, &look).await?;
            known.extend(look.in_tail);
            let has_messages = known.iter().any(|known| known.event_id == first_id);
            let planned = turn.messages.plan(chat_id, &known);
            let plan = planned.map_err(|_| turn.conflict(chat_id))?;
            let written = self.written_turn(scope, chat_id, turn).await?;
            let is_other = written.is_some_and(|digest| digest != turn.mark.digest)
                || has_messages && turn.messages.len() == 0;
            if is_other {
                return Err(turn.conflict(chat_id).into());
            }
            let fresh: Vec<_> = plan.fresh().collect();
            if written.is_some() || fresh.is_empty() && turn.messages.len() > 0 {
                let append = plan.answer(tail.last_sequence, tail.last_sequence);
                let mut messages = append.messages.iter();
                let is_ours = messages.any(|message| message.sequence >= absent_below);
                let outcome = if is_ours { Outcome::Stored } else { Outcome::Duplicate };
                return Ok(turn.answer(append, outcome));
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
                    Pushed::Unsure { absent_below: below } => {
                        absent_below = absent_below.min(below);
                        None
                    }
                    Pushed::Unfit => None,
                }
            } else {
                let mut session = self.begin().await?;
                let worked = self.turn_within(&push, turn, &mut session).await;
                let written = self.conclude(session, worked).await?;
                written.inspect(|tail| self.is_pushed(&push, tail))
            };
            if let Some(tail) = written {
                return Ok(self.stored(turn, &plan, &tail));
            }
        }
    }

    /// Writes a turn of which this process knows no message.
    async fn write_new_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
    ) -> Result<Tried, Failure> {
        let ids: Vec<_> = turn.messages.event_ids().map(EventId::as_str).collect();
        let recall = self.inner.known_chats.recall(chat_id, &ids);
        if recall.may_hold {
            return Ok(Tried::Unfit);
        }
        let plan = turn.messages.plan(chat_id, &[])?;
        let fresh: Vec<_> = plan.fresh().collect();
        let condition = Condition::NoneOfTheIds { sealed_below: recall.below };
        let push = Push::of(scope, chat_id, &fresh, condition, self.inner.clock.now());
        Ok(match self.carry_out(&push.of_turn(&turn.mark)).await? {
            Pushed::Stored(tail) => Tried::Written(self.stored(turn, &plan, &tail)),
            Pushed::Unsure { absent_below } => Tried::Unsure { absent_below },
            Pushed::Unfit => Tried::Unfit,
        })
    }

    /// Answers with a turn that was just stored: its messages are the last ones of this tail.
    fn stored(&self, turn: &TurnBatch, plan: &Plan<'_>, tail: &Tail) -> AppendedTurn {
        let count = plan.fresh().count();
        self.inner.metrics.appends.stored(1, count);
        let append = plan.answer(tail.last_sequence - count as u64, tail.last_sequence);
        turn.answer(append, Outcome::Stored)
    }

    /// Returns the digest of the turn that has its name, if one does and no message has to tell.
    async fn written_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: &TurnBatch,
    ) -> Result<Option<Digest>, Failure> {
        let request_id = &turn.mark.request_id;
        let recent = doc! { "recent_turns": 1, "schema_version": 1 };
        let raw = self.session_within(scope, chat_id, recent).await?;
        if let Some(digest) = recent_digest(&open_chat_session(&raw)?, request_id)? {
            return Ok(Some(digest));
        }
        let find = self.inner.resume_points.find_one(points_of(scope, chat_id, request_id));
        let found = find.sort(doc! { "turn": 1, "_id.sequence": 1 }).await?;
        Ok(found.map(|raw| open_point(&raw)?.bytes("digest")).transpose()?)
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
        let Some(tail) = pushed.filter(|_| !turn.open_steps.is_empty()) else { return Ok(pushed) };
        let (scope, chat_id) = push.place();
        let points = turn.resume_points(chat_id, tail.turns, push.now());
        let points = points.map(|point| point_document(scope, &point, &turn.mark.digest));
        let points = points.collect::<Result<Vec<_>, _>>()?;
        self.inner.resume_points.insert_many(points).session(session).await?;
        Ok(pushed)
    }
}

/// What came of writing a turn without having looked.
enum Tried {
    Written(AppendedTurn),
    /// It may be written; if it is, none of its messages lies below this sequence.
    Unsure {
        absent_below: u64,
    },
    /// Something is in its way.
    Unfit,
}

impl TurnBatch {
    fn is_large(&self) -> bool {
        self.messages.len() > Limits::BATCH_MESSAGES || self.messages.bytes() > Limits::BATCH_BYTES
    }

    fn fits_one_update(&self) -> bool {
        self.open_steps.is_empty() && !self.is_large()
    }
}
