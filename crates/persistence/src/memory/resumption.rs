use async_trait::async_trait;
use records::{ChatId, ResumePoint, ResumeState, Scope};

use super::MemoryStore;
use crate::StoreError;
use crate::metrics::Call;
use crate::store::{Resumption, too_large};

#[async_trait]
impl Resumption for MemoryStore {
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        max_message_bytes: usize,
    ) -> Result<ResumeState, StoreError> {
        self.observe(Call::ResumeState, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                let messages: Vec<_> =
                    chat.messages.iter().map(|kept| kept.message.clone()).collect();
                let bytes =
                    messages.iter().map(|message| message.body.check_stored().unwrap_or_default());
                let limit = max_message_bytes.min(ResumeState::MAX_MESSAGE_BYTES);
                if bytes.sum::<usize>() > limit {
                    return Err(too_large(limit));
                }
                let last_turn = chat.session.last_turn.as_ref().map(|turn| &turn.request_id);
                let is_last = |point: &&ResumePoint| Some(&point.request_id) == last_turn;
                let is_pending = |id| chat.session.pending_inputs.contains(id);
                let inputs = chat.inputs.iter().map(|kept| &kept.request);
                let pending = inputs.filter(|request| is_pending(&request.request_id));
                Ok(ResumeState {
                    chat: chat.session.clone(),
                    messages,
                    context: chat.context.clone(),
                    artifact: chat.artifact.clone(),
                    pending_inputs: pending.map(|request| request.clone().at(now)).collect(),
                    resume_points: chat.points.iter().filter(is_last).cloned().collect(),
                })
            })
        })
        .await
    }
}
