use std::fmt;
use std::sync::Arc;

use serde::Serialize;
use serde::ser::{SerializeStruct, Serializer};

/// A change to a message that was kept.
///
/// Repairs change only the rendering; the stored message stays unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Repaired {
    /// The position of the message in the input.
    pub index: usize,
    /// The sequence of the message.
    pub sequence: u64,
    /// What was changed; serialised as `repair` (the slug) and `detail` (the sentence).
    #[serde(flatten)]
    pub repair: Repair,
}

/// What was changed in a message.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Repair {
    /// A name was replaced, because the dialect does not accept its characters or its length.
    NameSanitised {
        /// The stored name; shared, because all messages of one speaker report the same repair.
        original: Arc<str>,
        /// The name in the rendering.
        sanitised: Arc<str>,
    },
    /// A content that is neither text nor a list of content parts became its JSON text.
    ContentSerialised,
    /// An empty text beside tool calls became null.
    EmptyContentRemoved,
    /// A refusal became a content part, because the content was null.
    RefusalMoved,
    /// The arguments of a call became their JSON text.
    ArgumentsSerialised {
        /// The function or tool that is called; shortened if it is long.
        name: String,
    },
    /// A call without a type became a function call.
    CallTypeAdded {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// The same call occurred twice in a message, and became one.
    CallMerged {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// A call and its result got a new id, because an earlier call has the same one.
    CallIdRenamed {
        /// The stored id; shortened if it is long.
        original: String,
        /// The id in the rendering; shortened if it is long.
        renamed: String,
    },
    /// The tool calls were removed, because the dialect has none.
    UnsupportedCallsRemoved,
    /// The tool calls were removed, because not all of them have results.
    UnansweredCallsRemoved,
    /// The tool calls were removed, because they are malformed.
    MalformedCallsRemoved,
    /// A refusal became text, because the dialect has no refusals.
    RefusalGivenAsText,
    /// A content part became its JSON text, because the dialect has no such part.
    PartSerialised,
    /// Long inline data were left out of a JSON text, where a model could read nothing in them.
    InlineDataLeftOut {
        /// The media type or the format; `data` if neither is known. Shortened if it is long.
        kind: String,
        /// How many bytes they were.
        bytes: usize,
    },
    /// Fields of a content part besides its text or data were removed.
    PartFieldsRemoved,
    /// Text that is only white space was removed.
    BlankTextRemoved,
    /// The name of the speaker was put in front of the text, because the dialect has no names.
    SpeakerFolded,
    /// The reasoning was removed: the dialect has none, or no provider signed it.
    ReasoningRemoved,
    /// A system instruction was moved from its position among the messages.
    InstructionHoisted,
    /// A message was merged into the previous message of the same role.
    MergedIntoTurn,
    /// A message of the user was added, because the dialect requires one.
    TurnAdded,
    /// A legacy function call, or its result, got an id.
    FunctionCallConverted,
    /// A null content became the empty text.
    NullContentFilled,
    /// Several parts became one text, because the dialect allows only one.
    PartsJoined,
    /// A call id was replaced, because the dialect does not accept its characters or its length.
    CallIdSanitised {
        /// The stored id; shortened if it is long.
        original: String,
        /// The id in the rendering.
        sanitised: String,
    },
    /// Arguments that are not an object became the field `input` of one.
    ArgumentsWrapped {
        /// The function or tool that is called; shortened if it is long.
        name: String,
    },
    /// A call without a result got one, which says that the call was interrupted.
    ResultAdded {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// A result was moved to its call: other messages came between.
    ResultMoved {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// A result came after so many messages that it could not be moved to its call: a note replaces it there.
    ResultNotMoved {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// A result was deleted after its call was rendered, so that null replaces it.
    ///
    /// This happens only if a conversation is rendered while it is read.
    DeletedResultReplaced {
        /// The id of the call; shortened if it is long.
        call_id: String,
    },
    /// Calls of another agent than the one as which the conversation is rendered were removed.
    OtherCallsRemoved,
    /// Fields that only another dialect has, or that the provider does not accept, were removed.
    ProviderFieldsRemoved,
    /// A message with more calls than the provider accepts became several messages.
    CallsSplit {
        /// How many messages there are now.
        count: usize,
    },
    /// Fields that a provider gave a call or its result were removed, such as its signature.
    CallFieldsRemoved,
    /// A text stands for a document, because a request may not have so many, or none so large.
    DocumentLeftOut {
        /// The name of the document, shortened if it is long.
        name: String,
    },
    /// A file got a name, because the provider requires one.
    FileNameAdded {
        /// The new name.
        name: &'static str,
    },
    /// A text file became a text, because the provider does not accept its type.
    FileGivenAsText {
        /// The name of the file, if it has one; shortened if it is long.
        name: Option<String>,
    },
    /// A call without a signature got the text that tells the provider to skip the check.
    SignatureAdded,
    /// Reasoning was moved from between the texts of a message to its beginning.
    ReasoningMoved,
    /// A field was removed, because the dialect cannot represent its value.
    FieldRemoved {
        /// The field.
        field: &'static str,
    },
}

impl Repair {
    /// Returns the stable name of the repair.
    pub fn slug(&self) -> &'static str {
        match self {
            Self::NameSanitised { .. } => "name_sanitised",
            Self::ContentSerialised => "content_serialised",
            Self::EmptyContentRemoved => "empty_content_removed",
            Self::RefusalMoved => "refusal_moved",
            Self::ArgumentsSerialised { .. } => "arguments_serialised",
            Self::CallTypeAdded { .. } => "call_type_added",
            Self::CallMerged { .. } => "call_merged",
            Self::CallIdRenamed { .. } => "call_id_renamed",
            Self::UnsupportedCallsRemoved => "unsupported_calls_removed",
            Self::UnansweredCallsRemoved => "unanswered_calls_removed",
            Self::MalformedCallsRemoved => "malformed_calls_removed",
            Self::RefusalGivenAsText => "refusal_given_as_text",
            Self::PartSerialised => "part_serialised",
            Self::InlineDataLeftOut { .. } => "inline_data_left_out",
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
            Self::ResultMoved { .. } => "result_moved",
            Self::ResultNotMoved { .. } => "result_not_moved",
            Self::DeletedResultReplaced { .. } => "deleted_result_replaced",
            Self::OtherCallsRemoved => "other_calls_removed",
            Self::ProviderFieldsRemoved => "provider_fields_removed",
            Self::CallsSplit { .. } => "calls_split",
            Self::CallFieldsRemoved => "call_fields_removed",
            Self::DocumentLeftOut { .. } => "document_left_out",
            Self::FileNameAdded { .. } => "file_name_added",
            Self::FileGivenAsText { .. } => "file_given_as_text",
            Self::SignatureAdded => "signature_added",
            Self::ReasoningMoved => "reasoning_moved",
            Self::FieldRemoved { .. } => "field_removed",
        }
    }
}

impl Repair {
    /// Returns the sentence of a repair that names a call.
    fn about_call(&self) -> String {
        match self {
            Self::CallTypeAdded { call_id } => {
                format!("the call {call_id:?} has no type and became a function call")
            }
            Self::CallMerged { call_id } => {
                format!("the call {call_id:?} occurred twice in the message and became one")
            }
            Self::CallIdRenamed { original, renamed } => {
                format!("the repeated call id {original:?} became {renamed:?}")
            }
            Self::CallIdSanitised { original, sanitised } => {
                format!("the call id {original:?} became {sanitised:?}")
            }
            Self::ResultAdded { call_id } => {
                format!("the call {call_id:?} has no result: one was added")
            }
            Self::ResultMoved { call_id } => {
                format!(
                    "the result of the call {call_id:?} was moved to it: other messages came between"
                )
            }
            Self::ResultNotMoved { call_id } => {
                format!(
                    "the result of the call {call_id:?} came too late to be moved to it: a note replaces it"
                )
            }
            Self::DeletedResultReplaced { call_id } => {
                format!(
                    "the result of the call {call_id:?} was deleted during the rendering: it became null"
                )
            }
            _ => String::new(),
        }
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CallTypeAdded { .. }
            | Self::CallMerged { .. }
            | Self::CallIdRenamed { .. }
            | Self::CallIdSanitised { .. }
            | Self::ResultAdded { .. }
            | Self::ResultMoved { .. }
            | Self::ResultNotMoved { .. }
            | Self::DeletedResultReplaced { .. } => f.write_str(&self.about_call()),
            Self::NameSanitised { original, sanitised } => {
                write!(f, "the name {original:?} became {sanitised:?}")
            }
            Self::ContentSerialised => f.write_str("the content became its JSON text"),
            Self::EmptyContentRemoved => {
                f.write_str("the empty text beside the tool calls became null")
            }
            Self::RefusalMoved => f.write_str("the refusal became a content part"),
            Self::ArgumentsSerialised { name } => {
                write!(f, "the arguments for {name:?} became their JSON text")
            }
            Self::UnsupportedCallsRemoved => {
                f.write_str("the tool calls were removed: the dialect has none")
            }
            Self::UnansweredCallsRemoved => {
                f.write_str("the tool calls were removed: not all of them have results")
            }
            Self::MalformedCallsRemoved => {
                f.write_str("the tool calls were removed: they are malformed")
            }
            Self::RefusalGivenAsText => f.write_str("the refusal became text"),
            Self::PartSerialised => f.write_str("a content part became its JSON text"),
            Self::InlineDataLeftOut { kind, bytes } => {
                write!(f, "inline data were left out of a JSON text: {kind}, {bytes} bytes")
            }
            Self::PartFieldsRemoved => {
                f.write_str("fields of a content part were removed: the dialect has no such fields")
            }
            Self::BlankTextRemoved => f.write_str("text that is only white space was removed"),
            Self::SpeakerFolded => {
                f.write_str("the name of the speaker was put in front of the text")
            }
            Self::ReasoningRemoved => {
                f.write_str("the reasoning was removed: the dialect cannot represent it")
            }
            Self::InstructionHoisted => {
                f.write_str("the instruction was moved out of the messages")
            }
            Self::MergedIntoTurn => f.write_str("the message was merged into the previous one"),
            Self::TurnAdded => {
                f.write_str("a message of the user was added beside it: the dialect requires one")
            }
            Self::FunctionCallConverted => {
                f.write_str("the legacy function call became a call with an id")
            }
            Self::NullContentFilled => f.write_str("the null content became the empty text"),
            Self::PartsJoined => f.write_str("the parts became one text"),
            Self::ArgumentsWrapped { name } => {
                write!(f, "the arguments for {name:?} became an object")
            }
            Self::OtherCallsRemoved => {
                f.write_str("the calls of another agent were removed")
            }
            Self::ProviderFieldsRemoved => f.write_str(
                "fields were removed that only another dialect has, or that the provider does not accept",
            ),
            Self::CallsSplit { count } => {
                write!(f, "the message became {count} messages: it has too many calls for one")
            }
            Self::CallFieldsRemoved => f.write_str(
                "fields of a call or its result were removed: the dialect has no such fields",
            ),
            Self::DocumentLeftOut { name } => write!(f, "the document {name:?} was left out"),
            Self::FileNameAdded { name } => write!(f, "a file without a name got the name {name:?}"),
            Self::FileGivenAsText { name: Some(name) } => {
                write!(f, "the file {name:?} became a text")
            }
            Self::FileGivenAsText { name: None } => f.write_str("a file became a text"),
            Self::SignatureAdded => f.write_str(
                "the call has no signature: the text that skips the check was added",
            ),
            Self::ReasoningMoved => {
                f.write_str("the reasoning between the texts was moved to the beginning")
            }
            Self::FieldRemoved { field } => {
                write!(f, "the field {field:?} was removed: the dialect cannot represent its value")
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
