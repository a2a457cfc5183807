//! The shapes of a history. The lists in them are written item by item: see [`super::writer`].

use std::collections::BTreeMap;

use resume::{Dropped, Repaired, UnsettledCall};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

/// A conversation in the form an orchestrator resumes from.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct HistoryResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "ag2")]
    dialect: &'static str,
    /// The messages, oldest first; in `ag2` exactly `role`, `name` and `content`.
    #[schema(value_type = Vec<Object>, example = json!([
        {"role": "user", "name": "user", "content": "Create a todo app"}
    ]))]
    messages: Vec<Value>,
    /// What the form has no place for.
    dropped: Vec<DroppedResponse>,
    /// What had to be changed to fit; missing when nothing had to.
    #[schema(required = false)]
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was changed; missing when none was.
    #[schema(required = false)]
    names: BTreeMap<String, String>,
    /// The original of each call id that was changed; missing when none was.
    #[schema(required = false)]
    ids: BTreeMap<String, String>,
    /// The instructions, in blocks of the form, where it wants them apart; missing without any.
    #[schema(required = false)]
    system: Vec<Value>,
}

/// A line of the same conversation: a message, or the last line.
#[derive(Debug, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) enum HistoryLine {
    Message(HistoryMessage),
    End(HistoryEnd),
}

/// A message in the form asked for; in `ag2` exactly `role`, `name` and `content`.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct HistoryMessage {
    /// Not in every form.
    #[schema(example = "assistant", required = false)]
    role: String,
}

/// The last line: without it the conversation has broken off.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct HistoryEnd {
    /// Always true; no message has this field.
    complete: bool,
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "ag2")]
    dialect: &'static str,
    /// How many lines there are before this one.
    message_count: u64,
    /// What the form has no place for.
    dropped: Vec<DroppedResponse>,
    /// What had to be changed to fit; missing when nothing had to.
    #[schema(required = false)]
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was changed; missing when none was.
    #[schema(required = false)]
    names: BTreeMap<String, String>,
    /// The original of each call id that was changed; missing when none was.
    #[schema(required = false)]
    ids: BTreeMap<String, String>,
    /// The instructions, in blocks of the form, where it wants them apart; missing without any.
    #[schema(required = false)]
    system: Vec<Value>,
}

/// A message that was left out.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Dropped)]
pub(crate) struct DroppedResponse {
    /// Its position in the chat.
    sequence: Option<u64>,
    /// Why, as a stable word.
    #[schema(example = "unsupported_role")]
    reason: &'static str,
    /// Why, in a sentence.
    detail: String,
}

/// A message that was changed; the stored one stays as it is.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Repaired)]
pub(crate) struct RepairedResponse {
    /// Its position in the chat.
    sequence: u64,
    /// What was changed, as a stable word.
    #[schema(example = "name_sanitised")]
    repair: &'static str,
    /// What was changed, in a sentence.
    detail: String,
}

/// A tool call without a result.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = UnsettledCall)]
pub(crate) struct UnsettledCallResponse {
    /// The position in the chat of the message that makes it.
    sequence: u64,
    #[schema(example = "call_1")]
    call_id: String,
    /// What is called.
    #[schema(example = "search")]
    name: String,
}

impl From<UnsettledCall> for UnsettledCallResponse {
    fn from(call: UnsettledCall) -> Self {
        let UnsettledCall { sequence, call_id, name } = call;
        Self { sequence, call_id, name }
    }
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
