use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// A change that a form needed to a message it kept.
///
/// Repairs are made in the rendering only; the stored message stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// The position of the message in the list that was given.
    pub index: usize,
    /// Its position in the chat.
    pub sequence: u64,
    /// What was changed; serialised as `repair` (the slug) and `detail` (the sentence).
    #[serde(flatten)]
    pub repair: Repair,
}

/// What was changed about a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Repair {
    /// A name was rewritten in the characters that the form admits.
    NameSanitised {
        /// The name in the log; shared, because most messages of its bearer say the same.
        original: Arc<str>,
        /// The name in the rendering.
        sanitised: Arc<str>,
    },
    /// A content that is neither text nor content parts became its JSON text.
    ContentSerialised,
    /// An empty text beside tool calls became null.
    EmptyContentRemoved,
    /// A refusal became a content part, because the content was null.
    RefusalMoved,
    /// The arguments of a call became their JSON text.
    ArgumentsSerialised {
        /// The function or tool that is called; shortened when it is long.
        name: String,
    },
    /// A call without a type was taken for a function call.
    CallTypeAdded {
        /// The call; shortened when it is long.
        call_id: String,
    },
    /// A call and its result got a new id, because an earlier call has the same one.
    CallIdRenamed {
        /// The id in the log; shortened when it is long.
        original: String,
        /// The id in the rendering; shortened when it is long.
        renamed: String,
    },
    /// The tool calls were left out, because the form has none.
    UnsupportedCallsRemoved,
    /// The tool calls were left out, because not all of them were answered directly.
    UnansweredCallsRemoved,
    /// The tool calls were left out, because they are not well formed.
    MalformedCallsRemoved,
    /// A result was deleted after its call had been rendered, so that null stands in for it.
    ///
    /// Only in a conversation that is rendered while it is read.
    DeletedResultReplaced {
        /// The call it answers; shortened when it is long.
        call_id: String,
    },
    /// A field was left out, because its value has no place in the form.
    FieldRemoved {
        /// The field.
        field: &'static str,
    },
}

impl Repair {
    /// Names the repair; the names never change.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::NameSanitised { .. } => "name_sanitised",
            Self::ContentSerialised => "content_serialised",
            Self::EmptyContentRemoved => "empty_content_removed",
            Self::RefusalMoved => "refusal_moved",
            Self::ArgumentsSerialised { .. } => "arguments_serialised",
            Self::CallTypeAdded { .. } => "call_type_added",
            Self::CallIdRenamed { .. } => "call_id_renamed",
            Self::UnsupportedCallsRemoved => "unsupported_calls_removed",
            Self::UnansweredCallsRemoved => "unanswered_calls_removed",
            Self::MalformedCallsRemoved => "malformed_calls_removed",
            Self::DeletedResultReplaced { .. } => "deleted_result_replaced",
            Self::FieldRemoved { .. } => "field_removed",
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NameSanitised { original, sanitised } => {
                write!(f, "the name {original:?} is given as {sanitised:?}")
            }
            Self::ContentSerialised => f.write_str("the content is given as its JSON text"),
            Self::EmptyContentRemoved => {
                f.write_str("the empty text beside the tool calls is given as null")
            }
            Self::RefusalMoved => f.write_str("the refusal is given as a content part"),
            Self::ArgumentsSerialised { name } => {
                write!(f, "the arguments for {name:?} are given as their JSON text")
            }
            Self::CallTypeAdded { call_id } => {
                write!(f, "the call {call_id:?} has no type and is taken for a function call")
            }
            Self::CallIdRenamed { original, renamed } => {
                write!(f, "the repeated call id {original:?} is given as {renamed:?}")
            }
            Self::UnsupportedCallsRemoved => {
                f.write_str("the tool calls are left out: the form has none")
            }
            Self::UnansweredCallsRemoved => {
                f.write_str("the tool calls are left out: not all were answered directly")
            }
            Self::MalformedCallsRemoved => {
                f.write_str("the tool calls are left out: they are not well formed")
            }
            Self::DeletedResultReplaced { call_id } => {
                write!(f, "the result of the call {call_id:?} was deleted meanwhile: it is null")
            }
            Self::FieldRemoved { field } => {
                write!(f, "the field {field:?} is left out: its value has no place in the form")
            }
        }
    }
}

impl Serialize for Repair {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Repair", 2)?;
        fields.serialize_field("repair", self.slug())?;
        fields.serialize_field("detail", &self.to_string())?;
        fields.end()
    }
}
