use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::{self, StreamExt as _};
use records::{ChatId, Message, ResumePoint, ResumeState, Scope};

use super::MemoryStore;
use super::messages::page_of;
use crate::StoreError;
use crate::metrics::Call;
use crate::store::{HistoryPages, MessageSource, ResumeSnapshot, Resumption};

#[async_trait]
impl Resumption for MemoryStore {
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ResumeSnapshot, StoreError> {
        self.observe(Call::ResumeState, || {
            let now = self.clock.now();
            self.with_chat(scope, chat_id, |chat| {
                let messages = chat.messages.iter().map(|kept| kept.message.clone()).collect();
                let last_turn = chat.session.last_turn.as_ref().map(|turn| &turn.request_id);
                let is_last = |point: &&ResumePoint| Some(&point.request_id) == last_turn;
                let is_pending = |id| chat.session.pending_inputs.contains(id);
                let inputs = chat.inputs.iter().map(|kept| &kept.request);
                let pending = inputs.filter(|request| is_pending(&request.request_id));
                let state = ResumeState {
                    chat: chat.session.clone(),
                    context: chat.context.clone(),
                    artifact: chat.artifact.clone(),
                    pending_inputs: pending.map(|request| request.clone().at(now)).collect(),
                    resume_points: chat.points.iter().filter(is_last).cloned().collect(),
                };
                Ok(ResumeSnapshot { state, messages: Box::new(Copied(messages)) })
            })
        })
        .await
    }
}

/// A copy of all messages.
#[derive(Debug)]
struct Copied(Arc<[Message]>);

impl MessageSource for Copied {
    fn pages(&mut self) -> HistoryPages<'_> {
        stream::iter(self.0.iter().map(|message| Ok(page_of(message.clone())))).boxed()
    }
}
