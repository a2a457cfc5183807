use std::mem;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt};
use records::{ChatId, Lifecycle, Scope};
use tokio::sync::broadcast::error::RecvError;

use super::{Chat, MemoryStore};
use crate::StoreError;
use crate::metrics::Call;
use crate::store::{Change, Changes, ChatChange, ChatHead, Interest};

#[async_trait]
impl Changes for MemoryStore {
    fn changes(&self, _interest: Interest) -> BoxStream<'static, Change> {
        let began = stream::iter([Change::Began]);
        let changes = stream::unfold(self.changes.subscribe(), async |mut told| {
            let change = match told.recv().await {
                Ok(change) => change,
                // The listener was too slow, and changes were overwritten before it read them.
                Err(RecvError::Lagged(_)) => Change::Began,
                Err(RecvError::Closed) => return None,
            };
            Some((change, told))
        });
        began.chain(changes).boxed()
    }

    fn delivers_changes(&self) -> bool {
        true
    }

    async fn heads(&self, scope: &Scope, chat_ids: &[ChatId]) -> Result<Vec<ChatHead>, StoreError> {
        self.observe(Call::Heads, || {
            let chats = self.chats();
            let found = chat_ids.iter().filter_map(|chat_id| chats.get(chat_id));
            Ok(found.filter(|chat| chat.permits(scope)).map(Chat::head).collect())
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
    /// Makes an archived chat active, and notifies listeners of it.
    pub(super) fn activate(&self, chat: &mut Chat) {
        chat.session.lifecycle_at = None;
        if mem::take(&mut chat.session.lifecycle) == Lifecycle::Archived {
            self.notify_change(chat);
        }
    }

    /// Notifies listeners that messages were appended to a chat.
    pub(super) fn notify_append(&self, chat: &Chat) {
        self.notify(chat, Some(chat.session.last_sequence));
    }

    /// Notifies listeners that something else in a chat has changed.
    pub(super) fn notify_change(&self, chat: &Chat) {
        self.notify(chat, None);
    }

    fn notify(&self, chat: &Chat, last_sequence: Option<u64>) {
        let chat_id = chat.session.chat_id.clone();
        let appended = [].into();
        // `send` fails only if there is no listener.
        let _ = self.changes.send(Change::Chat(ChatChange { chat_id, last_sequence, appended }));
    }

    /// Notifies listeners that calls of a chat were recorded or deleted.
    pub(super) fn notify_usage(&self, chat: &Chat) {
        let _ = self.changes.send(Change::Usage(chat.session.chat_id.clone()));
    }

    /// Notifies listeners that the users present in a chat, or their names, have changed.
    pub(super) fn notify_presence(&self, chat: &Chat) {
        let _ = self.changes.send(Change::Presence(chat.session.chat_id.clone()));
    }
}

impl Chat {
    /// Records the change of a stored message.
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
            session_version: self.session.session_version,
            lifecycle: self.session.lifecycle,
        }
    }
}
