use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, Deserializer, Error as _};

/// The reason why a text is not a valid id of a kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {rule}")]
#[non_exhaustive]
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
/// The rule of names, and of the ids that may be any text.
pub(crate) const NAME_RULE: &str = "must be 1 to 128 characters, without control, invisible or \
     text-direction characters, and without blanks at its ends";

fn is_app_id(text: &str) -> bool {
    (1..=MAX_APP_ID).contains(&text.len())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'))
}

fn is_chat_id(text: &str) -> bool {
    (1..=MAX_ID).contains(&text.len())
        && text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_')
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.' | b':'))
}

/// Returns whether a new id or name follows the rule.
///
/// Two names that look the same must be the same, and no name may change how the text around it looks.
pub(crate) fn is_name(text: &str) -> bool {
    is_stored_name(text) && text.trim().len() == text.len() && is_visible(text)
}

/// Returns whether an id or name may be in the store: releases before the rule of [`is_name`] refused only
/// control characters.
pub(crate) fn is_stored_name(text: &str) -> bool {
    !text.is_empty() && text.chars().count() <= MAX_ID && !text.chars().any(char::is_control)
}

/// Returns whether each character of a text can be seen.
///
/// The two joiners are accepted between characters beyond ASCII: Persian and Indian names and joined emoji
/// need them.
fn is_visible(text: &str) -> bool {
    let characters: Vec<char> = text.chars().collect();
    let is_beyond_ascii = |at: Option<usize>| {
        at.and_then(|at| characters.get(at)).is_some_and(|c| !c.is_ascii() && !is_invisible(*c))
    };
    characters.iter().enumerate().all(|(at, character)| match character {
        '\u{200c}' | '\u{200d}' => {
            is_beyond_ascii(at.checked_sub(1)) && is_beyond_ascii(Some(at + 1))
        }
        other => !is_invisible(*other),
    })
}

/// Returns whether a character has no glyph, or changes the direction or the lines of a text.
fn is_invisible(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e007f}'
    )
}

/// Defines an id: a newtype over `String` that holds only texts that its rule accepts.
macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $check:path, $stored:path, $rule:expr) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
        #[serde(into = "String")]
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

        /// Accepts what any release has stored.
        impl TryFrom<String> for $name {
            type Error = IdError;
            fn try_from(text: String) -> Result<Self, IdError> {
                if $stored(&text) { Ok(Self(text)) } else { Err(IdError { kind: $kind, rule: $rule }) }
            }
        }

        /// Text formats come from callers, and their ids follow the rule. Binary formats come from the
        /// store.
        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let is_from_caller = deserializer.is_human_readable();
                let text = String::deserialize(deserializer)?;
                let id = if is_from_caller { Self::parse(text) } else { Self::try_from(text) };
                id.map_err(D::Error::custom)
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
    AppId, "app_id", is_app_id, is_app_id, APP_RULE
}
id! {
    /// The id of a chat session, unique in the database: `^[A-Za-z0-9_][A-Za-z0-9_.:-]{0,127}$`.
    ChatId, "chat_id", is_chat_id, is_chat_id, CHAT_RULE
}
id! {
    /// The id of a message, unique within its chat. It is the idempotency key of the append.
    EventId, "event_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a provider call, unique within its chat. It is the idempotency key of its recording.
    CallId, "call_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a run of a tool, unique within its chat. It is the idempotency key of its recording.
    ToolRunId, "run_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a wallet entry, unique within its wallet. It is the idempotency key of the change.
    EntryId, "entry_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of an entry of the audit log.
    AuditEntryId, "entry_id", is_chat_id, is_chat_id, CHAT_RULE
}
id! {
    /// The id of an input request, unique within its chat. It is the idempotency key of the request.
    InputRequestId, "request_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of an acquisition of a lease. It is the idempotency key of the acquisition.
    LeaseId, "lease_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The name of a program that continues chats, such as one process of an orchestrator.
    Owner, "owner", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a turn, unique within its chat: the id of the request that it answers. It is the
    /// idempotency key of the turn.
    TurnId, "request_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a stream, unique within its chat. It is the idempotency key of its start.
    StreamId, "stream_id", is_chat_id, is_chat_id, CHAT_RULE
}
id! {
    /// The id of a call in a call stack of assistants.
    StackId, "stack_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a person or a program that uses a chat.
    UserId, "user_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a connection over which a person listens to a chat.
    ConnectionId, "connection_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The name of a person that other people see.
    DisplayName, "display_name", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The name of an access key, for people.
    AccessKeyLabel, "label", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a group of users.
    TeamId, "team_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of a token, from its claim `jti`.
    TokenId, "token_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The id of an assistant: what a chat talks to.
    AssistantId, "assistant_id", is_name, is_stored_name, NAME_RULE
}
id! {
    /// The name of a workflow; a chat is one run of it.
    WorkflowName, "workflow_name", is_name, is_stored_name, NAME_RULE
}

/// The id of a stream follows a narrower rule than that of a turn.
impl From<StreamId> for TurnId {
    fn from(id: StreamId) -> Self {
        Self(id.0)
    }
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

    /// Wraps a text that follows the rule.
    pub(crate) fn of_valid(text: String) -> Self {
        debug_assert!(is_name(&text), "{text}");
        Self(text)
    }
}

impl CallId {
    /// Mints a new call id.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("call_"))
    }
}

impl ToolRunId {
    /// Mints a new id of a run of a tool.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("run_"))
    }
}

impl AssistantId {
    /// Mints a new id of an assistant.
    pub fn mint(ids: &dyn Ids) -> Self {
        Self(ids.mint("assistant_"))
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
    fn a_new_name_shows_everything_that_it_contains() {
        for good in ["علی\u{200c}رضا", "क्\u{200d}ष", "👩\u{200d}🚀 Ada", "a b", "日本"]
        {
            assert!(UserId::parse(good).is_ok(), "{good:?}");
        }
        for bad in [
            " a",
            "a ",
            "\u{a0}a",
            "a\u{3000}",
            "a\u{200b}",
            "a\u{200d}b",
            "é\u{200d}",
            "a\u{202e}b",
            "a\u{2066}b",
            "\u{feff}a",
            "a\u{ad}b",
            "a\u{2028}b",
            "a\u{e0041}",
            "\u{2800}",
            "\u{3164}",
            "é\u{200d}\u{200d}é",
            "a\u{85}",
        ] {
            let error = UserId::parse(bad).unwrap_err();
            assert_eq!(error.kind, "user_id", "{bad:?}");
            let text = serde_json::json!(bad);
            assert!(serde_json::from_value::<UserId>(text).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_stored_name_is_read_as_it_is() {
        assert!(UserId::try_from("a\u{200b} ".to_owned()).is_ok());
        assert!(UserId::try_from("a\u{1b}".to_owned()).is_err());
    }

    #[test]
    fn minted_ids_are_valid_and_in_order() {
        let first = ChatId::mint(&Uuid7Ids);
        let second = ChatId::mint(&Uuid7Ids);
        assert!(first < second);
        assert!(ChatId::parse(first.as_str()).is_ok());
    }
}
