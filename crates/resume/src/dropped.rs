use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// A message, or one tool result of a message, that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// Its position in the list that was given.
    pub index: usize,
    /// Its position in the chat, when it has one.
    pub sequence: Option<u64>,
    /// Why it was left out; serialised as `reason` (the slug) and `detail` (the sentence).
    #[serde(flatten)]
    pub reason: DropReason,
}

/// Why a message was left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DropReason {
    /// It is not a JSON object.
    #[error("the message is not a JSON object")]
    NotAnObject,
    /// It was deleted; only its role and name are left.
    #[error("the message was deleted")]
    Deleted,
    /// Its role does not exist in this form.
    #[error("the role {role:?} does not exist in this form")]
    UnsupportedRole {
        /// The role it has; shortened when it is long.
        role: String,
    },
    /// It has no role, and its name is not that of the user.
    #[error("the role is missing")]
    MissingRole,
    /// Nothing says who spoke.
    #[error("the name of the speaker is missing")]
    MissingName,
    /// It says nothing.
    #[error("the content is null")]
    NullContent,
    /// It is a tool result that does not say which call it answers.
    #[error("the tool result does not say which call it answers")]
    MissingCallId,
    /// It is a tool result, and no message before it makes the call.
    #[error("the tool result answers the call {call_id:?}, which no message before it makes")]
    OrphanResult {
        /// The call it answers; shortened when it is long.
        call_id: String,
    },
    /// It is a tool result, and other messages stand between the call and it.
    #[error("the tool result does not follow directly on its call {call_id:?}")]
    LateResult {
        /// The call it answers; shortened when it is long.
        call_id: String,
    },
    /// It is a tool result, and the call has been answered already.
    #[error("the call {call_id:?} has been answered already")]
    DuplicateResult {
        /// The call it answers; shortened when it is long.
        call_id: String,
    },
    /// It is a tool result whose call was removed from the message before it.
    #[error("the call {call_id:?} was removed, because not every call beside it could be kept")]
    CallRemoved {
        /// The call it answers; shortened when it is long.
        call_id: String,
    },
    /// Its calls were not all answered directly after it, and without them nothing is left of it.
    #[error("not every call was answered directly, and without the calls nothing is left")]
    UnansweredCalls,
    /// Its calls were not all answered directly after it, and such messages are left out whole.
    #[error("not every call was answered directly, so the message is left out whole")]
    Trimmed,
    /// It says nothing but white space, and the form has no place for that.
    #[error("the content is empty or nothing but white space")]
    BlankContent,
    /// Its calls are not well formed, and without them nothing is left of it.
    #[error("the calls are not well formed, and without them nothing is left")]
    MalformedCalls,
}

impl DropReason {
    /// Names the reason; the names never change.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::NotAnObject => "not_an_object",
            Self::Deleted => "deleted",
            Self::UnsupportedRole { .. } => "unsupported_role",
            Self::MissingRole => "missing_role",
            Self::MissingName => "missing_name",
            Self::NullContent => "null_content",
            Self::MissingCallId => "missing_call_id",
            Self::OrphanResult { .. } => "orphan_result",
            Self::LateResult { .. } => "late_result",
            Self::DuplicateResult { .. } => "duplicate_result",
            Self::CallRemoved { .. } => "call_removed",
            Self::UnansweredCalls => "unanswered_calls",
            Self::Trimmed => "trimmed",
            Self::BlankContent => "blank_content",
            Self::MalformedCalls => "malformed_calls",
        }
    }

    /// Says that a form has no such role.
    pub(crate) fn unsupported_role(role: &str) -> Self {
        Self::UnsupportedRole { role: shown(role) }
    }
}

/// Shortens a text for a report: it may be as long as a message, and reports are kept to the end.
pub(crate) fn shown(text: &str) -> String {
    const SHOWN_CHARS: usize = 128;
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

impl Serialize for DropReason {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("DropReason", 2)?;
        fields.serialize_field("reason", self.slug())?;
        fields.serialize_field("detail", &self.to_string())?;
        fields.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_role_is_shortened_between_characters() {
        let reason = DropReason::unsupported_role(&"ü".repeat(200));
        let expected = format!("{}…", "ü".repeat(128));
        assert_eq!(reason, DropReason::UnsupportedRole { role: expected });
    }
}
