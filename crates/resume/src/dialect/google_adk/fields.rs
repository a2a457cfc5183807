//! The fields of events that no other format has, with their types.
//!
//! The library refuses an event if one of its fields has the wrong type. So those are not rendered,
//! whatever was stored.

use serde_json::{Map, Value};

use super::{LONG_RUNNING, media};

/// What a field may hold.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// Any JSON.
    Any,
    Flag,
    Number,
    Integer,
    Text,
    /// Bytes, in either alphabet of base64.
    Bytes,
    List,
    Texts,
    Object,
    /// An object whose values are integers.
    Integers,
    /// An object with these fields only.
    Fields(Table),
}

/// The fields of an object.
pub(super) type Table = &'static [(&'static str, Shape)];

/// `google.adk.events.Event`, version 2.13. An object of another type of the library is not checked further.
const EVENT: Table = &[
    ("actions", Shape::Fields(ACTIONS)),
    ("author", Shape::Text),
    ("avgLogprobs", Shape::Number),
    ("branch", Shape::Text),
    ("cacheMetadata", Shape::Object),
    ("citationMetadata", Shape::Object),
    ("customMetadata", Shape::Object),
    ("environmentId", Shape::Text),
    ("errorCode", Shape::Text),
    ("errorMessage", Shape::Text),
    ("finishReason", Shape::Text),
    ("goAway", Shape::Object),
    ("groundingMetadata", Shape::Object),
    ("id", Shape::Text),
    ("inputTranscription", Shape::Object),
    ("interactionId", Shape::Text),
    ("interactionStatus", Shape::Text),
    ("interrupted", Shape::Flag),
    ("invocationId", Shape::Text),
    ("isolationScope", Shape::Text),
    ("liveSessionId", Shape::Text),
    ("liveSessionResumptionUpdate", Shape::Object),
    ("logprobsResult", Shape::Object),
    (LONG_RUNNING, Shape::Texts),
    ("modelVersion", Shape::Text),
    ("nodeInfo", Shape::Fields(NODE_INFO)),
    ("output", Shape::Any),
    ("outputTranscription", Shape::Object),
    ("partial", Shape::Flag),
    ("timestamp", Shape::Number),
    ("turnComplete", Shape::Flag),
    ("turnCompleteReason", Shape::Text),
    ("usageMetadata", Shape::Object),
    ("voiceActivity", Shape::Object),
];

/// Arguments of the constructor of an event, which overwrite its fields.
const ARGUMENTS: [&str; 4] = ["message", "node_path", "route", "state"];

/// `google.adk.events.EventActions`, which refuses other fields.
const ACTIONS: Table = &[
    ("agentState", Shape::Object),
    ("artifactDelta", Shape::Integers),
    ("compaction", Shape::Object),
    ("endOfAgent", Shape::Flag),
    ("escalate", Shape::Flag),
    ("renderUiWidgets", Shape::List),
    ("requestedAuthConfigs", Shape::Object),
    ("requestedToolConfirmations", Shape::Object),
    ("rewindBeforeInvocationId", Shape::Text),
    ("route", Shape::Any),
    ("setModelResponse", Shape::Any),
    ("skipSummarization", Shape::Flag),
    ("stateDelta", Shape::Object),
    ("transferReason", Shape::Text),
    ("transferToAgent", Shape::Text),
];

const NODE_INFO: Table =
    &[("messageAsOutput", Shape::Flag), ("outputFor", Shape::Texts), ("path", Shape::Text)];

/// What `google.genai.types.Part` may have beside its payload; a text that no model sees is one of them.
pub(super) const PART: Table = &[
    ("audioTranscription", Shape::Object),
    ("mediaProcessing", Shape::Text),
    ("mediaResolution", Shape::Fields(&[("level", Shape::Text), ("numTokens", Shape::Integer)])),
    ("partMetadata", Shape::Object),
    ("speechMetadata", Shape::Fields(&[("speaker", Shape::Text), ("style", Shape::Text)])),
    ("text", Shape::Text),
    ("thought", Shape::Flag),
    ("thoughtSignature", Shape::Bytes),
    (
        "videoMetadata",
        Shape::Fields(&[
            ("endOffset", Shape::Text),
            ("fps", Shape::Number),
            ("startOffset", Shape::Text),
        ]),
    ),
];

/// The payloads of parts that stay as they are, each a content part with their name as its type.
pub(super) const KEPT: [(&str, Table); 4] = [
    (
        "codeExecutionResult",
        &[("id", Shape::Text), ("outcome", Shape::Text), ("output", Shape::Text)],
    ),
    ("executableCode", &[("code", Shape::Text), ("id", Shape::Text), ("language", Shape::Text)]),
    ("toolCall", &[("args", Shape::Object), ("id", Shape::Text), ("toolType", Shape::Text)]),
    (
        "toolResponse",
        &[("id", Shape::Text), ("response", Shape::Object), ("toolType", Shape::Text)],
    ),
];

/// Removes the fields of an event that the library does not accept; returns whether there are any.
///
/// It ignores fields that it does not know, so that those of later versions stay.
pub(super) fn retain_of_event(event: &mut Map<String, Value>) -> bool {
    let count = event.len();
    event.retain(|field, _| !ARGUMENTS.contains(&field.as_str()));
    let removes_any = event.len() < count;
    let mut unknown = Map::new();
    for (field, value) in std::mem::take(event) {
        let is_known = EVENT.iter().any(|(known, _)| *known == field);
        let object = if is_known { &mut *event } else { &mut unknown };
        object.insert(field, value);
    }
    let removes_any = retain(event, EVENT) | removes_any;
    event.extend(unknown);
    removes_any
}

/// Removes the fields that are not in a table, or not of their type; returns whether there are any.
pub(super) fn retain(object: &mut Map<String, Value>, table: Table) -> bool {
    let mut removes_any = false;
    object.retain(|field, value| {
        let shape = table.iter().find(|(known, _)| known == field).map(|(_, shape)| *shape);
        let is_kept = match (shape, &mut *value) {
            (Some(Shape::Fields(table)), Value::Object(fields)) => {
                removes_any |= retain(fields, table);
                true
            }
            (Some(shape), value) => shape.fits(value),
            (None, _) => false,
        };
        removes_any |= !is_kept;
        is_kept
    });
    removes_any
}

/// Returns whether an object has fields of a table only, each of its type.
pub(super) fn fits(object: &Map<String, Value>, table: Table) -> bool {
    object.iter().all(|(field, value)| {
        table.iter().any(|(known, shape)| known == field && shape.fits(value))
    })
}

/// Returns whether a value is a list of texts.
pub(super) fn is_text_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}

impl Shape {
    fn fits(self, value: &Value) -> bool {
        match self {
            Self::Any => true,
            Self::Flag => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64(),
            Self::Text => value.is_string(),
            Self::Bytes => value.as_str().is_some_and(media::is_base64),
            Self::List => value.is_array(),
            Self::Texts => is_text_list(value),
            Self::Object => value.is_object(),
            Self::Integers => value.as_object().is_some_and(|it| it.values().all(Value::is_i64)),
            Self::Fields(table) => value.as_object().is_some_and(|it| fits(it, table)),
        }
    }
}
