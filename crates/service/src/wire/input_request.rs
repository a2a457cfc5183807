use records::{
    BoundToolCall, Closed, Closing, InputAnswer, InputRequest, JsonObject, Question, arguments_hash,
};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::message::AuthorResponse;
use super::{Time, values};

/// A question that a workflow waits for, or has waited for.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = InputRequest)]
pub(crate) struct InputRequestResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "input_0198d4b2")]
    request_id: String,
    /// `pending`, `answered`, `cancelled`, `expired` or `chat_ended`.
    #[schema(value_type = values::InputState)]
    state: &'static str,
    /// The question as shown to people.
    #[schema(example = "Which database?")]
    prompt: String,
    /// The agent that asks.
    #[schema(example = "architect")]
    agent: Option<String>,
    /// What counts as an answer: `text`, `choice` or `confirm`.
    #[schema(value_type = values::InputKind)]
    kind: &'static str,
    /// The answers to choose from.
    #[schema(example = json!(["MongoDB", "SQLite"]))]
    options: Vec<String>,
    /// The tool call that the answer decides on.
    tool_call: Option<ToolCallFields>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    created_at: Time,
    /// When the request expires: from then on it refuses answers.
    expires_at: Option<Time>,
    closed_at: Option<Time>,
    /// Why the request was cancelled, or how the chat ended.
    reason: Option<String>,
    answer: Option<AnswerFields>,
}

/// The tool call that a question is bound to.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = BoundToolCall)]
struct ToolCallFields {
    #[schema(example = "call_1")]
    id: String,
    #[schema(example = "delete_files")]
    name: String,
    arguments: Value,
    /// A hash of the arguments, which an answer repeats.
    #[schema(example = "8f2b0c1d9e7a4b3c8f2b0c1d9e7a4b3c")]
    arguments_hash: String,
}

/// The answer to an input request.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[schema(as = InputAnswer)]
struct AnswerFields {
    #[schema(example = "MongoDB")]
    content: Value,
    /// The name of the person who answered, as given with the answer.
    #[schema(example = "user_alice_456")]
    name: String,
    /// The person who answered; null if a service answered without naming one.
    author: Option<AuthorResponse>,
    /// The id of the message that the answer became.
    #[schema(example = "evt_msg_001")]
    event_id: String,
    #[schema(example = 4)]
    sequence: u64,
}

impl From<InputRequest> for InputRequestResponse {
    fn from(request: InputRequest) -> Self {
        let state = request.state();
        let InputRequest { chat_id, request_id, question, created_at, expires_at, closing } =
            request;
        let Question { prompt, agent, kind, options, tool_call, metadata } = question;
        let closed_at = closing.as_ref().map(|closing| closing.at.into());
        let (reason, answer) = match closing.map(|Closing { how, .. }| how) {
            None | Some(Closed::Expired) => (None, None),
            Some(Closed::Answered(answer)) => (None, Some(answer.into())),
            Some(Closed::Cancelled { reason }) => (reason, None),
            Some(Closed::ChatEnded { status }) => (Some(status.to_string()), None),
        };
        Self {
            chat_id: chat_id.into(),
            request_id: request_id.into(),
            state,
            prompt,
            agent,
            kind: kind.as_str(),
            options,
            tool_call: tool_call.map(Into::into),
            metadata,
            created_at: created_at.into(),
            expires_at: expires_at.map(Into::into),
            closed_at,
            reason,
            answer,
        }
    }
}

impl From<BoundToolCall> for ToolCallFields {
    fn from(BoundToolCall { id, name, arguments }: BoundToolCall) -> Self {
        let arguments_hash = hex::encode(arguments_hash(&arguments));
        Self { id, name, arguments, arguments_hash }
    }
}

impl From<InputAnswer> for AnswerFields {
    fn from(answer: InputAnswer) -> Self {
        let InputAnswer { content, name, author, event_id, sequence } = answer;
        Self { content, name, author: author.map(Into::into), event_id: event_id.into(), sequence }
    }
}
