//! The fields of events that no other format has, with their types.
//!
//! The library refuses an event if one of its fields has the wrong type. So those are not rendered,
//! whatever was stored.

use serde_json::{Map, Value};

use super::LONG_RUNNING;
pub(super) use crate::dialect::gemini::KEPT;
use crate::dialect::shapes::{Shape, Table, retain};

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
    (LONG_RUNNING, Shape::ListOf(&Shape::Text)),
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

const NODE_INFO: Table = &[
    ("messageAsOutput", Shape::Flag),
    ("outputFor", Shape::ListOf(&Shape::Text)),
    ("path", Shape::Text),
];

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

/// Returns whether a value is a list of texts.
pub(super) fn is_text_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.iter().all(Value::is_string))
}
