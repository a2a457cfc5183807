use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    ChatId, ChatStatus, Closed, Closing, InputRequest, InputRequestId, Message, MessageBody,
    NewInputAnswer, NewInputRequest, ResumePoint, Scope,
};

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::erasure::ERASED_NAME;
use crate::rules::input::{AnswerDecision, Cancel, KeptInput, Reply, should_run_again};
use crate::store::{
    AnsweredInput, ChatHead, InputCursor, InputPage, InputRequests, Outcome, PendingCursor,
    PendingInputs, PendingOrder, RequestedInput,
};

#[async_trait]
impl InputRequests for MemoryStore {
    async fn request_input(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        new: NewInputRequest,
    ) -> Result<RequestedInput, StoreError> {
        self.observe(Call::RequestInput, || {
            let asked = KeptInput::asked(chat_id, new, &*self.clock, &*self.ids)?;
            let now = asked.request.created_at;
            self.with_chat(scope, chat_id, |chat| {
                if let Some(kept) = chat.find_input(&asked.request.request_id) {
                    kept.repeated_by(&asked)?;
                    let request = kept.request.clone().at(now);
                    return Ok(RequestedInput { request, outcome: Outcome::Duplicate });
                }
                let (status, chat_id) = (chat.session.status, chat_id.clone());
                if status.is_ended() {
                    return Err(StoreError::ChatEnded { chat_id, status });
                }
                if chat.session.pending_inputs.len() >= InputRequest::MAX_PENDING {
                    return Err(StoreError::TooManyInputs(chat_id));
                }
                chat.check_fence(scope.fencing_token)?;
                let request = asked.request.clone();
                chat.session.pending_inputs.push(request.request_id.clone());
                chat.note_input(request.request_id.clone(), now);
                chat.inputs.push(asked);
                if status == ChatStatus::Running {
                    chat.change_status(ChatStatus::Paused, Some(InputRequest::PAUSE_REASON), now);
                    self.count(&chat.session, now);
                }
                self.notify_change(chat);
                Ok(RequestedInput { request, outcome: Outcome::Stored })
            })
        })
        .await
    }

    async fn get_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
    ) -> Result<InputRequest, StoreError> {
        self.observe(Call::GetInputRequest, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                Ok(chat.input(request_id)?.request.clone().at(now))
            })
        })
        .await
    }

    async fn list_input_requests(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&InputCursor>,
    ) -> Result<InputPage, StoreError> {
        self.observe(Call::ListInputRequests, || {
            let now = self.clock.now();
            let key = |request: &InputRequest| (request.created_at, request.request_id.clone());
            let after = after.map(|cursor| (cursor.created_at, cursor.request_id.clone()));
            self.with_chat(scope, chat_id, |chat| {
                let requests = chat.inputs.iter().map(|kept| kept.request.clone().at(now));
                let is_after = |request: &InputRequest| {
                    after.as_ref().is_none_or(|after| key(request) < *after)
                };
                let mut requests: Vec<_> = requests.filter(is_after).collect();
                requests.sort_by_key(|request| std::cmp::Reverse(key(request)));
                Ok(InputPage::cut(requests, limit))
            })
        })
        .await
    }

    async fn find_input_requests(
        &self,
        scope: &Scope,
        request_id: &InputRequestId,
    ) -> Result<Vec<InputRequest>, StoreError> {
        self.observe(Call::FindInputRequests, || {
            let now = self.clock.now();
            let chats = self.chats();
            let within = chats.values().filter(|chat| chat.permits(scope));
            let mut found: Vec<_> = within.filter_map(|chat| chat.find_input(request_id)).collect();
            let is_pending = |kept: &&KeptInput| kept.request.closing.is_none();
            if found.iter().any(is_pending) {
                found.retain(is_pending);
            }
            let found = found.into_iter().map(|kept| kept.request.clone().at(now));
            Ok(found.take(InputPage::MAX_FOUND).collect())
        })
        .await
    }

    async fn list_pending_inputs(
        &self,
        scope: &Scope,
        order: PendingOrder,
        limit: usize,
        after: Option<&PendingCursor>,
    ) -> Result<PendingInputs, StoreError> {
        self.observe(Call::ListPendingInputs, || {
            let now = self.clock.now();
            let chats = self.chats();
            let listed = chats
                .values()
                .filter(|chat| chat.permits(scope) && scope.lists(&chat.session, &chat.members));
            let requests = listed.flat_map(|chat| &chat.inputs);
            let requests = requests.map(|kept| kept.request.clone().at(now));
            let mut pending: Vec<_> = requests.filter(|it| it.closing.is_none()).collect();
            pending.sort_by_cached_key(PendingCursor::at);
            if order == PendingOrder::Newest {
                pending.reverse();
            }
            if let Some(after) = after {
                pending.retain(|request| match order {
                    PendingOrder::Newest => PendingCursor::at(request) < *after,
                    PendingOrder::Oldest => PendingCursor::at(request) > *after,
                });
            }
            let has_more = pending.len() > limit;
            pending.truncate(limit);
            let next = pending.last().filter(|_| has_more).map(PendingCursor::at);
            Ok(PendingInputs { requests: pending, next })
        })
        .await
    }

    async fn answer_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        answer: NewInputAnswer,
    ) -> Result<AnsweredInput, StoreError> {
        self.observe(Call::AnswerInputRequest, || {
            let reply = Reply::check(scope, chat_id, request_id, answer, &*self.ids)?;
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                let kept = chat.input(request_id)?.clone();
                match kept.decide_answer(&reply, now)? {
                    AnswerDecision::Take => {
                        let plan = reply.batch.plan(chat_id, &chat.known())?;
                        let append = self.store(scope, chat, &plan)?;
                        chat.check_fence(scope.fencing_token)?;
                        let closing = reply.closing(append.messages[0].sequence, now);
                        let request = self.close_input(chat, &kept, closing, now);
                        chat.input(request_id)?.answer_digest = Some(reply.entry().digest);
                        Ok(AnsweredInput { request, append })
                    }
                    AnswerDecision::Repeat { sequence } => {
                        let counter = chat.session.last_sequence;
                        let append = reply.append(sequence, Outcome::Duplicate, counter);
                        Ok(AnsweredInput { request: kept.request, append })
                    }
                    AnswerDecision::Expire => {
                        let request = self.expire_input(chat, &kept, now);
                        Err(StoreError::InputClosed(Box::new(request)))
                    }
                }
            })
        })
        .await
    }

    async fn cancel_input_request(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        request_id: &InputRequestId,
        reason: Option<&str>,
    ) -> Result<InputRequest, StoreError> {
        self.observe(Call::CancelInputRequest, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                let kept = chat.input(request_id)?.clone();
                match kept.cancel(reason, now) {
                    Cancel::Done => Ok(kept.request),
                    Cancel::Refuse(refusal) => Err(refusal),
                    Cancel::Expire => {
                        let request = self.expire_input(chat, &kept, now);
                        Err(StoreError::InputClosed(Box::new(request)))
                    }
                    Cancel::Close(closing) => {
                        chat.check_fence(scope.fencing_token)?;
                        Ok(self.close_input(chat, &kept, closing, now))
                    }
                }
            })
        })
        .await
    }

    async fn expire_input_requests(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::ExpireInputRequests, || {
            let now = self.clock.now();
            let mut chats = self.chats();
            let mut overdue: Vec<_> = chats
                .values()
                .flat_map(|chat| &chat.inputs)
                .filter(|kept| kept.request.is_overdue(now))
                .cloned()
                .collect();
            overdue.sort_by_key(|kept| kept.request.expires_at);
            overdue.truncate(limit);
            for kept in &overdue {
                if let Some(chat) = chats.get_mut(&kept.request.chat_id) {
                    self.expire_input(chat, kept, now);
                }
            }
            Ok(overdue.len())
        })
        .await
    }
}

impl MemoryStore {
    fn expire_input(&self, chat: &mut Chat, kept: &KeptInput, now: DateTime<Utc>) -> InputRequest {
        match kept.expiry() {
            Some(closing) => self.close_input(chat, kept, closing, now),
            None => kept.request.clone(),
        }
    }

    /// Closes a pending request. The chat runs again if this was the last request that it waited for.
    fn close_input(
        &self,
        chat: &mut Chat,
        kept: &KeptInput,
        closing: Closing,
        now: DateTime<Utc>,
    ) -> InputRequest {
        let request = InputRequest { closing: Some(closing), ..kept.request.clone() };
        chat.close_input(&request, now);
        if should_run_again(&chat.session) {
            chat.change_status(ChatStatus::Running, None, now);
            self.count(&chat.session, now);
        }
        self.notify_change(chat);
        request
    }
}

impl Chat {
    fn find_input(&self, request_id: &InputRequestId) -> Option<&KeptInput> {
        self.inputs.iter().find(|kept| kept.request.request_id == *request_id)
    }

    fn input(&mut self, request_id: &InputRequestId) -> Result<&mut KeptInput, StoreError> {
        let chat_id = &self.session.chat_id;
        let mut inputs = self.inputs.iter_mut();
        inputs.find(|kept| kept.request.request_id == *request_id).ok_or_else(|| {
            let (chat_id, request_id) = (chat_id.clone(), request_id.clone());
            StoreError::InputNotFound { chat_id, request_id }
        })
    }

    /// Closes all pending requests, because the chat has ended.
    pub(super) fn end_inputs(&mut self, now: DateTime<Utc>) {
        let status = self.session.status;
        for request_id in self.session.pending_inputs.clone() {
            let Ok(kept) = self.input(&request_id) else { continue };
            let mut request = kept.request.clone().at(now);
            let ended = || Closing { at: now, how: Closed::ChatEnded { status } };
            request.closing.get_or_insert_with(ended);
            self.close_input(&request, now);
        }
    }

    fn close_input(&mut self, request: &InputRequest, now: DateTime<Utc>) {
        if let Ok(kept) = self.input(&request.request_id) {
            kept.request = request.clone();
        }
        self.session.pending_inputs.retain(|pending| *pending != request.request_id);
        self.note_input(request.request_id.clone(), now);
    }

    /// Makes the questions that a message answered say what it says now.
    pub(super) fn rewrite_answers(&mut self, message: &Message, now: DateTime<Utc>) {
        let mut answered = Vec::new();
        for InputRequest { request_id, closing, .. } in
            self.inputs.iter_mut().map(|input| &mut input.request)
        {
            if let Some(Closing { how: Closed::Answered(answer), .. }) = closing
                && answer.event_id == message.event_id
            {
                answer.content.clone_from(&message.body.content);
                if message.deleted_at.is_some() {
                    ERASED_NAME.clone_into(&mut answer.name);
                }
                answered.push(request_id.clone());
            }
        }
        for request_id in answered {
            self.note_input(request_id, now);
        }
    }

    /// Removes the unfinished steps of the turn that a message was part of. A turn that was written before the message was said
    /// does not repeat it.
    pub(super) fn forget_steps(&mut self, said: &MessageBody, said_at: DateTime<Utc>) {
        if let Some(turn) = said.extra_text(MessageBody::REQUEST_ID) {
            let repeats = |point: &ResumePoint| {
                point.request_id.as_str() == turn && point.created_at >= said_at
            };
            self.points.retain(|point| !repeats(point));
        }
    }

    /// Records that a request was created or closed.
    pub(super) fn note_input(&mut self, request_id: InputRequestId, now: DateTime<Utc>) {
        self.session.last_updated_at = now;
        self.input_version += 1;
        self.recent_inputs.push(request_id);
        if self.recent_inputs.len() > ChatHead::RECENT_INPUTS {
            self.recent_inputs.remove(0);
        }
    }
}
