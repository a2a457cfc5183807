use std::fmt;

use serde::{Deserialize, Serialize};

/// The reason why a text is not a valid id of a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {rule}")]
pub struct IdError {
    /// The kind of id, which is the name of its field: `app_id`, `chat_id`, …
    pub kind: &'static str,
    /// The rule that the text breaks; the sentence continues the kind.
    pub rule: &'static str,
}

/// The length of the longest app id, in characters.
const MAX_APP_ID: usize = 64;
/// The length of the longest id of any other kind, in characters.
const MAX_ID: usize = 128;

const APP_RULE: &str = "must be 1 to 64 of the characters A-Z a-z 0-9 _ -";
const CHAT_RULE: &str =
    "must be 1 to 128 of the characters A-Z a-z 0-9 _ - . : and begin with a letter, a digit or _";
const NAME_RULE: &str = "must be 1 to 128 characters without control characters";

fn is_app_id(text: &str) -> bool {
    (1..=MAX_APP_ID).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn is_chat_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_ID && !text.chars().any(char::is_control)
}

/// Defines an id: a newtype over `String` that holds only texts that its rule accepts.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path, $rule:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(String);

        impl $name {
            /// Checks the text against the rule and wraps it.
            pub fn parse(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                if $check(&text) { Ok(Self(text)) } else { Err(IdError { kind: $kind, rule: $rule }) }
            }

            /// Returns the text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl std::str::FromStr for $name {
            type Err = IdError;
            fn from_str(text: &str) -> Result<Self, IdError> {
                Self::parse(text)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> Self {
                id.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

id! {
    /// The id of an application: `^[A-Za-z0-9_-]{1,64}$`. A 24-digit hexadecimal `ObjectId` is valid,
    /// too.
    AppId, "app_id", is_app_id, APP_RULE
}
id! {
    /// The id of a chat session, unique in the database: `^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$`.
    ChatId, "chat_id", is_chat_id, CHAT_RULE
}
id! {
    /// The id of a message, unique within its chat. It is the idempotency key of the append.
    EventId, "event_id", is_name, NAME_RULE
}
id! {
    /// The id of a provider call, unique within its chat. It is the idempotency key of its recording.
    CallId, "call_id", is_name, NAME_RULE
}
id! {
    /// The id of a wallet entry, unique within its wallet. It is the idempotency key of the change.
    EntryId, "entry_id", is_name, NAME_RULE
}
id! {
    /// The id of an input request, unique within its chat. It is the idempotency key of the request.
    InputRequestId, "request_id", is_name, NAME_RULE
}
id! {
    /// The id of an acquisition of a lease. It is the idempotency key of the acquisition.
    LeaseId, "lease_id", is_name, NAME_RULE
}
id! {
    /// The name of a program that continues chats, such as one process of an orchestrator.
    Owner, "owner", is_name, NAME_RULE
}
id! {
    /// The id of a turn, unique within its chat: the id of the request that it answers. It is the
    /// idempotency key of the turn.
    TurnId, "request_id", is_name, NAME_RULE
}
id! {
    /// The id of a call in a call stack of assistants.
    StackId, "stack_id", is_name, NAME_RULE
}
id! {
    /// The id of a person or a program that uses a chat.
    UserId, "user_id", is_name, NAME_RULE
}
id! {
    /// The id of a connection over which a person listens to a chat.
    ConnectionId, "connection_id", is_name, NAME_RULE
}
id! {
    /// The name of a person that other people see.
    DisplayName, "display_name", is_name, NAME_RULE
}
id! {
    /// The id of a group of users.
    TeamId, "team_id", is_name, NAME_RULE
}
id! {
    /// The name of a workflow; a chat is one run of it.
    WorkflowName, "workflow_name", is_name, NAME_RULE
}

/// A source of new ids.
pub trait Ids: Send + Sync + fmt::Debug {
    /// Returns a new, unique text of the characters `[a-z0-9_]` that begins with `prefix`.
    fn mint(&self, prefix: &str) -> String;
}

/// Ids such as `chat_0197…`: the prefix, then a `UUIDv7` in hexadecimal. Later ids sort after earlier
/// ones.
#[derive(Debug, Clone, Copy, Default)]
pub struct Uuid7Ids;

impl Ids for Uuid7Ids {
    #[expect(clippy::disallowed_methods, reason = "the one place that mints ids")]
    fn mint(&self, prefix: &str) -> String {
        format!("{prefix}{}", uuid::Uuid::now_v7().simple())
    }
}

impl ChatId {
    /// Mints a new chat id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("chat_"))
    }
}

impl EventId {
    /// Mints a new event id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("evt_"))
    }
}

impl CallId {
    /// Mints a new call id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("call_"))
    }
}

impl InputRequestId {
    /// Mints a new id of an input request.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("input_"))
    }
}

impl LeaseId {
    /// Mints a new lease id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("lease_"))
    }
}

impl ConnectionId {
    /// Mints a new connection id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("conn_"))
    }
}

impl EntryId {
    /// Mints a new entry id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("entry_"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_ids_follow_their_rule() {
        for good in ["acme_corp", "6507f1b2e4b0c8a9d2f3e4a5", "A-1", &"a".repeat(64)] {
            assert!(AppId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", " ", "a b", "a.b", "a/b", "ä", "a\n", "$ne", &"a".repeat(65)] {
            assert!(AppId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn chat_ids_cannot_climb_directories_or_hide_control_characters() {
        for good in ["chat_abc123", "c.dot", "a:b", "_x"] {
            assert!(ChatId::parse(good).is_ok(), "{good}");
        }
        for bad in ["", "..", ".", "a/b", "a%2f", "a\0", "a\u{202e}b", "-x", &"c".repeat(129)] {
            assert!(ChatId::parse(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn names_may_be_any_printable_text() {
        assert!(UserId::parse("Zoë von Ü. <z@example.org>").is_ok());
        assert!(UserId::parse("a\r\nb").is_err());
        assert!(UserId::parse("x".repeat(129)).is_err());
    }

    #[test]
    fn minted_ids_are_valid_and_in_order() {
        let first = ChatId::mint(&Uuid7Ids);
        let second = ChatId::mint(&Uuid7Ids);
        assert!(first < second);
        assert!(ChatId::parse(first.as_str()).is_ok());
    }
}
