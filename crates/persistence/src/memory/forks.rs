use async_trait::async_trait;
use records::{ChatId, ChatSession, ContextSnapshot, ContextVersion, KeptContext, NewFork, Scope};

use super::{Chat, Kept, MemoryStore, work_on};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::new_chat::forked;
use crate::store::Forks;

#[async_trait]
impl Forks for MemoryStore {
    async fn fork_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fork: NewFork,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::ForkChat, || {
            // With one lock: nothing is erased from the source between the copy and the insertion.
            let mut chats = self.chats();
            let fork = work_on(&mut chats, scope, chat_id, |source| {
                let session = forked(scope, &source.session, fork, &*self.clock, &*self.ids)?;
                Ok(source.fork(session))
            })?;
            self.insert(&mut chats, fork)
        })
        .await
    }
}

impl Chat {
    /// Returns a fork of the chat in its current state.
    fn fork(&self, session: ChatSession) -> Self {
        let is_taken_over = |kept: &&Kept| kept.message.sequence < session.last_sequence;
        let messages = self.messages.iter().take_while(is_taken_over).cloned().collect();
        let mut fork = Self { messages, ..Self::new(session) };
        if let Some(KeptContext { version, data }) = self.context_at(fork.session.last_sequence) {
            let (sequence, data) = (version.sequence, data.clone());
            let version = ContextVersion { version: 1, ..version.clone() };
            fork.context = ContextSnapshot { sequence, data: data.clone() };
            fork.context_version = 1;
            fork.keep(KeptContext { version, data });
        }
        fork
    }
}
