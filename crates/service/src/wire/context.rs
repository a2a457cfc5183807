use records::{ChatId, ContextSnapshot, JsonObject};
use serde::Serialize;
use utoipa::ToSchema;

/// The context snapshot of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ContextResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The chat's counter when the snapshot was written: it reflects the messages below this sequence.
    #[schema(example = 15)]
    sequence: u64,
    /// The variables; empty if none were ever stored. Missing in the response to a write with
    /// `Prefer: return=minimal`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Object, required = false, example = json!({"interview_complete": true}))]
    context_snapshot: Option<JsonObject>,
}

impl ContextResponse {
    pub(crate) fn new(chat_id: ChatId, snapshot: ContextSnapshot) -> Self {
        Self {
            chat_id: chat_id.into(),
            sequence: snapshot.sequence,
            context_snapshot: Some(snapshot.data),
        }
    }

    pub(crate) fn without_variables(self) -> Self {
        Self { context_snapshot: None, ..self }
    }
}
