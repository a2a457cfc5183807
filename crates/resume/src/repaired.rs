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
    /// A refusal was given as text, because the form has none.
    RefusalGivenAsText,
    /// A content part became its JSON text, because the form has no place for it.
    PartSerialised,
    /// What stood beside the text or the data of a content part was left out.
    PartFieldsRemoved,
    /// Text of nothing but white space was left out.
    BlankTextRemoved,
    /// The speaker's name was put in front of the text, because the form has no names.
    SpeakerFolded,
    /// The reasoning was left out: the form has no place for it, or no provider signed it.
    ReasoningRemoved,
    /// An instruction was taken out of its place among the messages.
    InstructionHoisted,
    /// A message was joined to the one before it, from the same side.
    MergedIntoTurn,
    /// The user was made to speak, where the form wants that and nobody did.
    TurnAdded,
    /// An older function call, or its result, was given an id.
    FunctionCallConverted,
    /// A null content became the empty text.
    NullContentFilled,
    /// Several parts became one text, because the form has one text only.
    PartsJoined,
    /// A call id was rewritten in the characters, and in the length, that the form admits.
    CallIdSanitised {
        /// The id in the log; shortened when it is long.
        original: String,
        /// The id in the rendering.
        sanitised: String,
    },
    /// Arguments that are not an object became its field `input`.
    ArgumentsWrapped {
        /// The function or tool that is called; shortened when it is long.
        name: String,
    },
    /// A call without a result got one, which says that it was interrupted.
    ResultAdded {
        /// The call it answers; shortened when it is long.
        call_id: String,
    },
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
            Self::RefusalGivenAsText => "refusal_given_as_text",
            Self::PartSerialised => "part_serialised",
            Self::PartFieldsRemoved => "part_fields_removed",
            Self::BlankTextRemoved => "blank_text_removed",
            Self::SpeakerFolded => "speaker_folded",
            Self::ReasoningRemoved => "reasoning_removed",
            Self::InstructionHoisted => "instruction_hoisted",
            Self::MergedIntoTurn => "merged_into_turn",
            Self::TurnAdded => "turn_added",
            Self::FunctionCallConverted => "function_call_converted",
            Self::NullContentFilled => "null_content_filled",
            Self::PartsJoined => "parts_joined",
            Self::CallIdSanitised { .. } => "call_id_sanitised",
            Self::ArgumentsWrapped { .. } => "arguments_wrapped",
            Self::ResultAdded { .. } => "result_added",
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
            Self::RefusalGivenAsText => f.write_str("the refusal is given as text"),
            Self::PartSerialised => f.write_str("a content part is given as its JSON text"),
            Self::PartFieldsRemoved => {
                f.write_str("fields of a content part are left out: they have no place in the form")
            }
            Self::BlankTextRemoved => f.write_str("text of nothing but white space is left out"),
            Self::SpeakerFolded => {
                f.write_str("the name of the speaker is given in front of the text")
            }
            Self::ReasoningRemoved => {
                f.write_str("the reasoning is left out: it has no place in the form as it is")
            }
            Self::InstructionHoisted => {
                f.write_str("the instruction is given apart from the messages")
            }
            Self::MergedIntoTurn => f.write_str("the message is joined to the one before it"),
            Self::TurnAdded => {
                f.write_str("a message of the user is added beside it, as the form wants")
            }
            Self::FunctionCallConverted => {
                f.write_str("the older function call is given as one with an id")
            }
            Self::NullContentFilled => f.write_str("the null content is given as the empty text"),
            Self::PartsJoined => f.write_str("the parts are given as one text"),
            Self::CallIdSanitised { original, sanitised } => {
                write!(f, "the call id {original:?} is given as {sanitised:?}")
            }
            Self::ArgumentsWrapped { name } => {
                write!(f, "the arguments for {name:?} are given as an object")
            }
            Self::ResultAdded { call_id } => {
                write!(f, "the call {call_id:?} has no result and is given one")
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
