//! The JSON shapes of a history. Their lists are written item by item, by [`super::writer`].

use std::collections::BTreeMap;

use resume::{Dropped, Repaired};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::wire::values::{self, any_of};

/// A conversation in the dialect that an orchestrator resumes from.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct HistoryResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(value_type = values::Dialect)]
    dialect: &'static str,
    /// The messages, oldest first; in `ag2` exactly `role`, `name` and `content`.
    #[schema(value_type = Vec<Object>, example = json!([
        {"role": "user", "name": "user", "content": "Create a todo app"}
    ]))]
    messages: Vec<Value>,
    /// The messages that do not fit the dialect.
    dropped: Vec<DroppedResponse>,
    /// The messages below this sequence were read. Events after it (`after` is this number less 1) continue without a gap.
    #[schema(example = 15)]
    last_sequence: u64,
    /// The messages that were changed to fit the dialect; missing if there are none.
    #[schema(required = false)]
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was replaced; missing if there are none.
    #[schema(required = false)]
    names: BTreeMap<String, String>,
    /// The original of each call id that was replaced; missing if there are none.
    #[schema(required = false)]
    ids: BTreeMap<String, String>,
    /// The system instructions, for dialects that keep them apart from the messages; missing if there are none.
    #[schema(required = false)]
    system: Vec<Value>,
}

/// A line of a conversation as NDJSON: a message, or the last line.
pub(crate) enum HistoryLine {}

any_of!(HistoryLine, "HistoryLine", [HistoryMessage, HistoryEnd]);

/// A message in the dialect; in `ag2` exactly `role`, `name` and `content`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct HistoryMessage {
    /// Not in every dialect.
    #[schema(example = "assistant", required = false)]
    role: String,
}

/// The last line. If it is missing, the response was aborted.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct HistoryEnd {
    /// Always true; no message has this field.
    complete: bool,
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(value_type = values::Dialect)]
    dialect: &'static str,
    /// The number of messages: the lines before this one.
    message_count: u64,
    /// The messages that do not fit the dialect.
    dropped: Vec<DroppedResponse>,
    /// The messages below this sequence were read. Events after it (`after` is this number less 1) continue without a gap.
    #[schema(example = 15)]
    last_sequence: u64,
    /// The messages that were changed to fit the dialect; missing if there are none.
    #[schema(required = false)]
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was replaced; missing if there are none.
    #[schema(required = false)]
    names: BTreeMap<String, String>,
    /// The original of each call id that was replaced; missing if there are none.
    #[schema(required = false)]
    ids: BTreeMap<String, String>,
    /// The system instructions, for dialects that keep them apart from the messages; missing if there are none.
    #[schema(required = false)]
    system: Vec<Value>,
}

/// A message that was dropped.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Dropped)]
pub(crate) struct DroppedResponse {
    /// The sequence of the message.
    sequence: Option<u64>,
    /// The reason, as a stable word.
    #[schema(example = "unsupported_role")]
    reason: &'static str,
    /// The reason, as a sentence.
    detail: String,
}

/// A message that was changed in the response; the stored message is unchanged.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Repaired)]
pub(crate) struct RepairedResponse {
    /// The sequence of the message.
    sequence: u64,
    /// The change, as a stable word.
    #[schema(example = "name_sanitised")]
    repair: &'static str,
    /// The change, as a sentence.
    detail: String,
}

impl From<Dropped> for DroppedResponse {
    fn from(dropped: Dropped) -> Self {
        Self {
            sequence: dropped.sequence,
            reason: dropped.reason.slug(),
            detail: dropped.reason.to_string(),
        }
    }
}

impl From<Repaired> for RepairedResponse {
    fn from(repaired: Repaired) -> Self {
        Self {
            sequence: repaired.sequence,
            repair: repaired.repair.slug(),
            detail: repaired.repair.to_string(),
        }
    }
}
