//! The parts and the fields of parts that no other provider has, with their types.
//!
//! The API refuses a field of another type, so that such a field is not rendered.

use crate::dialect::shapes::{Shape, Table};

/// The payloads of parts that stay as they are, each a content part with their name as its type.
pub(in crate::dialect) const KEPT: [(&str, Table); 4] = [
    (CODE_RESULT, &[("id", Shape::Text), ("outcome", Shape::Text), ("output", Shape::Text)]),
    (CODE, &[("code", Shape::Text), ("id", Shape::Text), ("language", Shape::Text)]),
    ("toolCall", &[("args", Shape::Object), ("id", Shape::Text), ("toolType", Shape::Text)]),
    (
        "toolResponse",
        &[("id", Shape::Text), ("response", Shape::Object), ("toolType", Shape::Text)],
    ),
];

/// The payload of a part with code that the model ran, and of a part with its result.
pub(super) const CODE: &str = "executableCode";
pub(super) const CODE_RESULT: &str = "codeExecutionResult";

/// The payloads of all other parts.
pub(super) const COMMON: [&str; 5] =
    ["fileData", "functionCall", "functionResponse", "inlineData", "text"];

/// The field of a part with the signature of a thought.
pub(in crate::dialect) const SIGNATURE: &str = "thoughtSignature";

/// The mark of a text that is a thought.
pub(super) const THOUGHT: &str = "thought";

/// The field of media that says how a model sees them.
pub(in crate::dialect) const MEDIA_PROCESSING: &str = "mediaProcessing";

/// The field of a part with what was said in a sound, which may be in another part.
const TRANSCRIPTION: &str = "audioTranscription";

/// What a part may have beside its payload: `google.genai.types.Part`, version 3.4.
pub(super) const BESIDES: Table = &[
    ("audioMetadata", Shape::Fields(&[("endOffset", Shape::Text), ("startOffset", Shape::Text)])),
    (TRANSCRIPTION, Shape::Object),
    (
        "documentMetadata",
        Shape::Fields(&[
            ("contentLayers", Shape::List),
            ("endPage", Shape::Integer),
            ("startPage", Shape::Integer),
        ]),
    ),
    (MEDIA_PROCESSING, Shape::Text),
    ("mediaResolution", Shape::Fields(&[("level", Shape::Text), ("numTokens", Shape::Integer)])),
    ("partMetadata", Shape::Object),
    ("speechMetadata", Shape::Fields(&[("speaker", Shape::Text), ("style", Shape::Text)])),
    (
        "spreadsheetMetadata",
        Shape::Fields(&[
            ("contentLayers", Shape::List),
            ("sheetIndex", Shape::Integer),
            ("visibleCells", Shape::Text),
        ]),
    ),
    (SIGNATURE, Shape::Text),
    (
        "videoMetadata",
        Shape::Fields(&[
            ("contentLayers", Shape::List),
            ("endOffset", Shape::Text),
            ("fps", Shape::Number),
            ("startOffset", Shape::Text),
        ]),
    ),
];

/// What a call may have beside its id, its function and the arguments.
pub(super) const OF_CALL: Table = &[("partialArgs", Shape::List), ("willContinue", Shape::Flag)];

/// What a response may have beside the id of the call, the function, the output and media.
pub(super) const OF_RESPONSE: Table = &[("scheduling", Shape::Text), ("willContinue", Shape::Flag)];

/// Returns whether parts have a field with this name.
pub(super) fn is_of_part(field: &str) -> bool {
    is_payload(field) || field == THOUGHT || BESIDES.iter().any(|(known, _)| *known == field)
}

/// Returns whether a part may have a field with this name and no payload.
pub(super) fn may_be_alone(field: &str) -> bool {
    field == TRANSCRIPTION || !is_of_part(field)
}

/// Returns whether a field with this name is the payload of a part.
pub(super) fn is_payload(field: &str) -> bool {
    COMMON.contains(&field) || KEPT.iter().any(|(known, _)| *known == field)
}
