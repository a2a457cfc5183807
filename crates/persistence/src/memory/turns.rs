use async_trait::async_trait;
use records::{ChatId, NewTurn, ResumePoint, Scope, TurnId};

use super::{Chat, KeptPoint, MemoryStore};
use crate::StoreError;
use crate::store::{AppendedTurn, Outcome, ResumePointFilter, Turns};
use crate::turn_batch::TurnBatch;

#[async_trait]
impl Turns for MemoryStore {
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError> {
        let turn = TurnBatch::check(&scope.caller, turn, &*self.ids)?;
        self.metrics.appends.given(&turn.messages);
        let now = self.clock.now();
        self.with_chat(scope, chat_id, |chat| {
            let plan = turn.messages.plan(chat_id, &chat.known())?;
            let counter = chat.session.last_sequence;
            if plan.fresh().next().is_none() && chat.has_written(&turn)? {
                return Ok(turn.answer(plan.answer(counter, counter), Outcome::Duplicate));
            }
            let status = chat.session.status;
            if status.is_ended() {
                return Err(StoreError::ChatEnded { chat_id: chat_id.clone(), status });
            }
            chat.check_fence(scope.fencing_token)?;
            let append = self.store(scope, chat, &plan)?;
            chat.session.last_updated_at = now;
            chat.turns += 1;
            let mark = &turn.mark;
            chat.session.last_turn = Some(mark.last_turn(chat.turns));
            if let Some(connector) = &mark.connector {
                chat.session.last_connector = Some(connector.clone());
            }
            if let Some(mode) = &mark.mode {
                chat.session.last_mode = Some(mode.clone());
            }
            for (sequence, step) in turn.points.clone() {
                let point = ResumePoint {
                    chat_id: chat_id.clone(),
                    request_id: mark.request_id.clone(),
                    turn: chat.turns,
                    sequence,
                    step,
                    created_at: now,
                };
                chat.points.push(KeptPoint { point, digest: turn.digest });
            }
            Ok(turn.answer(append, Outcome::Stored))
        })
    }

    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
    ) -> Result<Vec<ResumePoint>, StoreError> {
        self.with_chat(scope, chat_id, |chat| {
            let points = chat.points.iter().map(|kept| &kept.point);
            let points: Vec<_> = points.filter(|point| filter.admits(point)).cloned().collect();
            let start = points.len().saturating_sub(ResumePointFilter::MOST);
            Ok(points[start..].to_vec())
        })
    }

    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        self.with_chat(scope, chat_id, |chat| Ok(chat.points.last().map(|kept| kept.point.clone())))
    }

    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError> {
        let now = self.clock.now();
        self.with_chat(scope, chat_id, |chat| {
            chat.check_fence(scope.fencing_token)?;
            chat.session.last_updated_at = now;
            let before = chat.points.len();
            let stays =
                |kept: &KeptPoint| request_id.is_some_and(|id| *id != kept.point.request_id);
            chat.points.retain(stays);
            Ok((before - chat.points.len()) as u64)
        })
    }
}

impl Chat {
    /// Tells whether a turn is written whose messages, if it has any, are.
    fn has_written(&self, turn: &TurnBatch) -> Result<bool, StoreError> {
        if turn.messages.len() > 0 {
            return Ok(true);
        }
        let request_id = &turn.mark.request_id;
        let mut points = self.points.iter();
        let Some(kept) = points.find(|kept| kept.point.request_id == *request_id) else {
            return Ok(false);
        };
        if kept.digest == turn.digest {
            return Ok(true);
        }
        let (chat_id, request_id) = (self.session.chat_id.clone(), request_id.clone());
        Err(StoreError::TurnConflict { chat_id, request_id })
    }
}
