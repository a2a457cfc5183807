use std::sync::atomic::AtomicUsize;
use std::sync::atomic::Ordering::Relaxed;

use anyhow::{Result, ensure};
use async_trait::async_trait;
use persistence::{Messages as _, Outcome};
use records::{NewMessage, Permission};

use super::Chat;
use super::chat::new_messages;
use crate::measure::Write;
use crate::messages::Message;

/// `Messages::append`, to one chat or to one for each writer.
#[derive(Debug)]
pub(crate) struct Append {
    chats: Vec<Chat>,
    event_ids: EventIds,
    /// The number of writes so far, if each goes to the next chat.
    next: Option<AtomicUsize>,
}

/// The source of the event ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EventIds {
    /// From the caller, which makes the append safe to repeat.
    Given,
    /// From the store.
    Minted,
}

impl Append {
    /// All writers write to one chat.
    pub(crate) fn to(chat: Chat) -> Self {
        Self::to_each(vec![chat])
    }

    /// Each writer writes to a chat of its own.
    pub(crate) fn to_each(chats: Vec<Chat>) -> Self {
        Self { chats, event_ids: EventIds::Given, next: None }
    }

    /// Each write goes to the next chat.
    pub(crate) fn to_next(chats: Vec<Chat>) -> Self {
        Self { next: Some(AtomicUsize::new(0)), ..Self::to_each(chats) }
    }

    /// The same with ids that the store mints.
    pub(crate) fn with_minted_ids(self) -> Self {
        Self { event_ids: EventIds::Minted, ..self }
    }
}

#[async_trait]
impl Write for Append {
    type Input = (Chat, Vec<NewMessage>);

    fn prepare(&self, writer: usize, messages: &[Message]) -> Result<Self::Input> {
        let number = self.next.as_ref().map_or(writer, |next| next.fetch_add(1, Relaxed));
        let chat = self.chats[number % self.chats.len()].clone();
        let mut messages = new_messages(messages, self.event_ids)?;
        if chat.scope.permission == Permission::Say {
            for message in &mut messages {
                "user".clone_into(&mut message.body.role);
            }
        }
        Ok((chat, messages))
    }

    async fn write(&self, (chat, messages): Self::Input) -> Result<()> {
        let append = chat.store.append(&chat.scope, &chat.id, messages).await?;
        let is_new = append.messages.iter().all(|message| message.outcome == Outcome::Stored);
        ensure!(is_new, "a message was already stored");
        Ok(())
    }
}
