use async_trait::async_trait;
use records::{ChatId, ChatSession, ContextSnapshot, NewFork, Scope};

use super::{Chat, Kept, MemoryStore};
use crate::StoreError;
use crate::new_chat::forked;
use crate::store::Forks;

#[async_trait]
impl Forks for MemoryStore {
    async fn fork_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        fork: NewFork,
    ) -> Result<ChatSession, StoreError> {
        let fork = self.with_chat(scope, chat_id, |source| {
            let session = forked(scope, &source.session, fork, &*self.clock, &*self.ids)?;
            Ok(source.fork(session))
        })?;
        self.insert(fork)
    }
}

impl Chat {
    /// Returns a fork of the chat as it is.
    fn fork(&self, session: ChatSession) -> Self {
        let is_taken_over = |kept: &&Kept| kept.message.sequence < session.last_sequence;
        let messages = self.messages.iter().take_while(is_taken_over).cloned().collect();
        let is_in_force =
            self.context_version > 0 && self.context.sequence <= session.last_sequence;
        let context = if is_in_force { self.context.clone() } else { ContextSnapshot::default() };
        let context_version = u64::from(is_in_force);
        Self { messages, context, context_version, ..Self::new(session) }
    }
}
