use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// A message, or one tool result of a message, that is not in the rendering.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Dropped {
    /// The position of the message in the input.
    pub index: usize,
    /// The sequence of the message, if it is stored.
    pub sequence: Option<u64>,
    /// Why it was dropped; serialised as `reason` (the slug) and `detail` (the sentence).
    #[serde(flatten)]
    pub reason: DropReason,
}

/// Why a message or a tool result was dropped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DropReason {
    /// It is not a JSON object.
    #[error("the message is not a JSON object")]
    NotAnObject,
    /// It was deleted; only its role and name still exist.
    #[error("the message was deleted")]
    Deleted,
    /// The dialect does not have its role.
    #[error("the dialect has no role {role:?}")]
    UnsupportedRole {
        /// The role of the message; shortened if it is long.
        role: String,
    },
    /// It has no role, and its name is not the default user name.
    #[error("the role is missing")]
    MissingRole,
    /// It does not name its speaker.
    #[error("the name of the speaker is missing")]
    MissingName,
    /// Its content is null, and it makes no calls.
    #[error("the content is null")]
    NullContent,
    /// It has reasoning alone, which the dialect does not allow.
    #[error("the message has only reasoning")]
    OnlyReasoning,
    /// It is a tool result without the id of its call.
    #[error("the tool result has no call id")]
    MissingCallId,
    /// It is a tool result, and no earlier message makes its call.
    #[error("no earlier message makes the call {call_id:?} that the tool result answers")]
    OrphanResult {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// It is a state of a call between its beginning and its end.
    #[error("a state of the call {call_id:?} before its end is not stored")]
    IntermediateState {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// It is a tool result that came after the exchange of its call: the call has an earlier result, or too many messages are
    /// between the two.
    #[error(
        "the result of the call {call_id:?} came late: an earlier one, or a note, stands in its place"
    )]
    LateResult {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// It is a tool result, and a later result of its call stands in its place.
    #[error("a later result of the call {call_id:?} stands in its place")]
    SupersededResult {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// It is a tool result, and its call already has a result.
    #[error("the call {call_id:?} already has a result")]
    DuplicateResult {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// It is a tool result, and its call was removed from the rendering.
    #[error(
        "the call {call_id:?} was removed, because not every call of its message could be kept"
    )]
    CallRemoved {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// Not all of its calls have results, and it has no other content.
    #[error("not every call has a result, and the message has no other content")]
    UnansweredCalls,
    /// Not all of its calls have results, and the policy drops such messages.
    #[error("not every call has a result, so the message is dropped")]
    Trimmed,
    /// Its content is empty or only white space, which the dialect does not allow.
    #[error("the content is empty or only white space")]
    BlankContent,
    /// It is a call or a result of another agent than the one as which the conversation is rendered.
    #[error("the calls and results of other agents are not shown to this agent")]
    OtherAgent,
    /// Its calls are malformed, and it has no other content.
    #[error("the calls are malformed, and the message has no other content")]
    MalformedCalls,
    /// It has no type, or its properties are not an object.
    #[error("the type of the message is missing, or its props are not an object")]
    MissingProps,
    /// It is a signal of a stream in flight, which is not stored.
    #[error("an event is a signal of a stream in flight, and is not stored")]
    Transient,
    /// Its dialect is rendered, and not parsed.
    #[error("the dialect is for export only")]
    ExportOnly,
}

impl DropReason {
    /// Returns the stable name of the reason.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::NotAnObject => "not_an_object",
            Self::Deleted => "deleted",
            Self::UnsupportedRole { .. } => "unsupported_role",
            Self::MissingRole => "missing_role",
            Self::MissingName => "missing_name",
            Self::NullContent => "null_content",
            Self::OnlyReasoning => "only_reasoning",
            Self::MissingCallId => "missing_call_id",
            Self::OrphanResult { .. } => "orphan_result",
            Self::IntermediateState { .. } => "intermediate_state",
            Self::LateResult { .. } => "late_result",
            Self::SupersededResult { .. } => "superseded_result",
            Self::DuplicateResult { .. } => "duplicate_result",
            Self::CallRemoved { .. } => "call_removed",
            Self::UnansweredCalls => "unanswered_calls",
            Self::Trimmed => "trimmed",
            Self::BlankContent => "blank_content",
            Self::OtherAgent => "other_agent",
            Self::MalformedCalls => "malformed_calls",
            Self::MissingProps => "missing_props",
            Self::Transient => "transient",
            Self::ExportOnly => "export_only",
        }
    }

    /// Creates the reason for a role that the dialect does not have.
    pub(crate) fn unsupported_role(role: &str) -> Self {
        Self::UnsupportedRole { role: shorten(role) }
    }
}

/// Shortens a text for a report.
///
/// A text may be as long as a message, and all reports of a rendering are in memory at once.
pub(crate) fn shorten(text: &str) -> String {
    const MAX_CHARS: usize = 128;
    match text.char_indices().nth(MAX_CHARS) {
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
