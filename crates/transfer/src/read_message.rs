use records::{DerivedId, IdSalt, IdSpace, NewMessage};

/// A message that was read.
#[derive(Debug, Clone, PartialEq)]
pub struct ReadMessage {
    pub(crate) message: NewMessage,
    bytes: usize,
    /// Its id, if it has none of its own.
    derived: Option<DerivedId>,
}

impl ReadMessage {
    pub(crate) fn new(message: NewMessage, bytes: usize, derived: Option<DerivedId>) -> Self {
        Self { message, bytes, derived }
    }

    /// Its size in the store, in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Returns the message as a chat with this salt stores it: with its own id, or with one that is derived in that chat.
    #[must_use]
    pub fn into_message(self, salt: Option<IdSalt>) -> NewMessage {
        let Self { mut message, derived, .. } = self;
        if let Some(derived) = derived {
            message.event_id = Some(derived.in_space(&IdSpace { salt, person: None }));
        }
        message
    }
}
