use async_trait::async_trait;
use records::{ChatId, NewTurn, ResumePoint, Scope, TurnId};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::turn_batch::TurnBatch;
use crate::store::{
    AppendedTurn, Outcome, ResumePointCursor, ResumePointFilter, ResumePointPage, Turns,
};

#[async_trait]
impl Turns for MemoryStore {
    async fn append_turn(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        turn: NewTurn,
    ) -> Result<AppendedTurn, StoreError> {
        self.observe(Call::AppendTurn, || {
            let turn = TurnBatch::check(&scope.caller, turn, &*self.ids)?;
            self.metrics.appends.given(&turn.messages);
            self.with_chat(scope, chat_id, |chat| self.append_turn_to(scope, chat_id, chat, turn))
        })
        .await
    }

    async fn list_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        filter: &ResumePointFilter,
        limit: usize,
        cursor: Option<ResumePointCursor>,
    ) -> Result<ResumePointPage, StoreError> {
        self.observe(Call::ListResumePoints, || {
            self.with_chat(scope, chat_id, |chat| {
                let is_next = |point: &&ResumePoint| {
                    cursor.is_none_or(|cursor| ResumePointCursor::after(point) < cursor)
                };
                let points = chat.points.iter().rev().filter(is_next);
                let mut points = points.filter(|point| filter.admits(point)).cloned();
                let page: Vec<_> = points.by_ref().take(limit).collect();
                let has_more = points.next().is_some();
                let next = page.last().filter(|_| has_more).map(ResumePointCursor::after);
                Ok(ResumePointPage { points: page, next })
            })
        })
        .await
    }

    async fn last_resume_point(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ResumePoint>, StoreError> {
        self.observe(Call::LastResumePoint, || {
            self.with_chat(scope, chat_id, |chat| Ok(chat.points.last().cloned()))
        })
        .await
    }

    async fn delete_resume_points(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: Option<&TurnId>,
    ) -> Result<u64, StoreError> {
        self.observe(Call::DeleteResumePoints, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                chat.check_fence(scope.fencing_token)?;
                chat.session.last_updated_at = now;
                let before = chat.points.len();
                let stays =
                    |point: &ResumePoint| request_id.is_some_and(|id| *id != point.request_id);
                chat.points.retain(stays);
                Ok((before - chat.points.len()) as u64)
            })
        })
        .await
    }
}

impl MemoryStore {
    /// Writes a checked turn to a chat.
    pub(super) fn append_turn_to(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        chat: &mut Chat,
        turn: TurnBatch,
    ) -> Result<AppendedTurn, StoreError> {
        let now = self.clock.now();
        let known = chat.known();
        let plan = turn.messages.plan(chat_id, &known).map_err(|_| turn.conflict(chat_id))?;
        let counter = chat.session.last_sequence;
        match chat.turn_digests.get(&turn.mark.request_id) {
            Some(digest) if *digest == turn.mark.digest => {
                return Ok(turn.answer(plan.answer(counter, counter), Outcome::Duplicate));
            }
            Some(_) => return Err(turn.conflict(chat_id)),
            None => {}
        }
        // Inherited messages of a turn also prove that the turn id is used.
        if turn.messages.len() > 0 && plan.fresh().next().is_none() {
            return Ok(turn.answer(plan.answer(counter, counter), Outcome::Duplicate));
        }
        let first_id = turn.first_message_id();
        if turn.messages.len() == 0 && known.iter().any(|known| known.event_id == first_id) {
            return Err(turn.conflict(chat_id));
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
        self.activate(chat);
        chat.session.last_turn = Some(mark.last_turn(chat.turns));
        if let Some(connector) = &mark.connector {
            chat.session.last_connector = Some(connector.clone());
        }
        if let Some(mode) = &mark.mode {
            chat.session.last_mode = Some(mode.clone());
        }
        chat.turn_digests.insert(mark.request_id.clone(), mark.digest);
        let appended = turn.answer(append, Outcome::Stored);
        // Not before its messages were.
        let written_at = self.clock.now();
        chat.points.extend(turn.into_resume_points(chat_id, chat.turns, written_at));
        Ok(appended)
    }
}
