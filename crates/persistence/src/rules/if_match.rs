//! The checks of what the caller has seen of a record and of its chat.

use records::{ChatId, Message, Scope};

use crate::StoreError;

/// A record that is replaced as a whole, whose entity tag is its version.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Versioned {
    /// The context snapshot, which always exists.
    Context,
    Artifact,
    /// The chat session, which always exists.
    Session,
}

impl Versioned {
    /// The error of a write whose caller has seen another version.
    pub(crate) fn changed(self, chat_id: &ChatId) -> StoreError {
        let record = match self {
            Self::Context => "the context snapshot",
            Self::Artifact => "the artifact",
            Self::Session => "the chat",
        };
        StoreError::Changed { chat_id: chat_id.clone(), record }
    }

    /// Refuses a write whose caller has seen another version, or anything where nothing is.
    pub(crate) fn check(
        self,
        scope: &Scope,
        chat_id: &ChatId,
        version: u64,
        exists: bool,
    ) -> Result<(), StoreError> {
        let Some(seen) = &scope.if_match else { return Ok(()) };
        if exists && seen.accepts(&version.to_string()) {
            return Ok(());
        }
        Err(self.changed(chat_id))
    }
}

/// Refuses an edit of a message that the caller has seen otherwise.
pub(crate) fn check_seen(
    scope: &Scope,
    chat_id: &ChatId,
    message: &Message,
) -> Result<(), StoreError> {
    let Some(seen) = &scope.if_match else { return Ok(()) };
    if seen.accepts(&message.entity_tag()) {
        return Ok(());
    }
    Err(StoreError::Changed { chat_id: chat_id.clone(), record: "the message" })
}

/// Refuses a write whose caller expects another number of messages.
pub(crate) fn check_expected(
    scope: &Scope,
    chat_id: &ChatId,
    actual: u64,
) -> Result<(), StoreError> {
    match scope.expected_last_sequence {
        Some(expected) if expected != actual => {
            Err(StoreError::SequenceConflict { chat_id: chat_id.clone(), expected, actual })
        }
        _ => Ok(()),
    }
}
