use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use records::{ChatId, Scope};
use tokio::sync::broadcast::error::RecvError;

use super::{Chat, MemoryStore, admits};
use crate::StoreError;
use crate::metrics::Call;
use crate::store::{Change, Changes, ChatChange, ChatHead};

#[async_trait]
impl Changes for MemoryStore {
    fn changes(&self) -> BoxStream<'static, Change> {
        let began = stream::iter([Change::Began]);
        let changes = stream::unfold(self.changes.subscribe(), async |mut told| {
            let change = match told.recv().await {
                Ok(change) => change,
                // Some were overwritten before they were read.
                Err(RecvError::Lagged(_)) => Change::Began,
                Err(RecvError::Closed) => return None,
            };
            Some((change, told))
        });
        began.chain(changes).boxed()
    }

    fn tells_changes(&self) -> bool {
        true
    }

    async fn heads(&self, scope: &Scope, chat_ids: &[ChatId]) -> Result<Vec<ChatHead>, StoreError> {
        self.observe(Call::Heads, || {
            let chats = self.chats();
            let found = chat_ids.iter().filter_map(|chat_id| chats.get(chat_id));
            Ok(found.filter(|chat| admits(scope, &chat.session)).map(Chat::head).collect())
        })
        .await
    }

    async fn confirmed_head(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ChatHead, StoreError> {
        self.observe(Call::ConfirmedHead, || self.with_chat(scope, chat_id, |chat| Ok(chat.head())))
            .await
    }
}

impl MemoryStore {
    /// Tells who listens that messages were appended to a chat.
    pub(super) fn tell_append(&self, chat: &Chat) {
        self.tell(chat, Some(chat.session.last_sequence));
    }

    /// Tells who listens that something else about a chat has changed.
    pub(super) fn tell_change(&self, chat: &Chat) {
        self.tell(chat, None);
    }

    fn tell(&self, chat: &Chat, last_sequence: Option<u64>) {
        let chat_id = chat.session.chat_id.clone();
        // An error says that nobody listens.
        let _ = self.changes.send(Change::Chat(ChatChange { chat_id, last_sequence }));
    }

    /// Tells who listens that calls of a chat were recorded or deleted.
    pub(super) fn tell_usage(&self, chat: &Chat) {
        let _ = self.changes.send(Change::Usage(chat.session.chat_id.clone()));
    }

    /// Tells who listens that others are present in a chat, or by other names.
    pub(super) fn tell_presence(&self, chat: &Chat) {
        let _ = self.changes.send(Change::Presence(chat.session.chat_id.clone()));
    }
}

impl Chat {
    /// Notes that a message that was stored already has changed.
    pub(super) fn note_edit(&mut self, sequence: u64) {
        self.revision += 1;
        self.recent_edits.push(sequence);
        if self.recent_edits.len() > ChatHead::RECENT_EDITS {
            self.recent_edits.remove(0);
        }
    }

    fn head(&self) -> ChatHead {
        ChatHead {
            chat_id: self.session.chat_id.clone(),
            last_sequence: self.session.last_sequence,
            revision: self.revision,
            recent_edits: self.recent_edits.clone(),
            status: self.session.status,
            status_reason: self.session.status_reason.clone(),
            context_version: self.context_version,
            artifact_version: self.artifact_version,
            input_version: self.input_version,
            recent_inputs: self.recent_inputs.clone(),
            pending_inputs: self.session.pending_inputs.clone(),
        }
    }
}
