use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{RequestedInput, Store};
use records::{BoundToolCall, InputKind, InputRequestId, JsonObject, NewInputRequest, Question};
use serde::Deserialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::admission::Rates;
use crate::api::created::Created;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::InputRequestResponse;

/// A question to ask.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewInputRequest, example = json!({
    "prompt": "Which database?",
    "agent": "architect",
    "kind": "choice",
    "options": ["MongoDB", "SQLite"],
    "expires_in_sec": 3600
}))]
pub(crate) struct InputRequestRequest {
    /// The idempotency key of the request; minted if missing.
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<InputRequestId>,
    /// The question as shown to people, at most 16 KiB.
    #[schema(min_length = 1)]
    prompt: String,
    /// The agent that asks.
    agent: Option<String>,
    /// What counts as an answer: any content (`text`), one of the options (`choice`), or true or false
    /// (`confirm`).
    #[serde(default)]
    #[schema(value_type = values::InputKind)]
    kind: KindField,
    /// With `choice`: 1 to 64 texts of at most 1 KiB.
    #[serde(default)]
    #[schema(max_items = 64)]
    options: Vec<String>,
    /// The tool call that the answer decides on; an answer must name the same arguments.
    tool_call: Option<ToolCallRequest>,
    /// Data of the caller that is stored with the request, at most 16 KiB.
    #[serde(default)]
    #[schema(value_type = Object)]
    metadata: JsonObject,
    /// After how many seconds the request expires, at most 30 days; by default it never expires.
    #[schema(minimum = 1, maximum = 2_592_000)]
    expires_in_sec: Option<u32>,
}

impl Keyed for InputRequestRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("request_id", &mut self.request_id)
    }
}

/// What counts as an answer.
#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum KindField {
    #[default]
    Text,
    Choice,
    Confirm,
}

/// A tool call.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewBoundToolCall)]
struct ToolCallRequest {
    /// The id that the model gave.
    id: String,
    /// The name of the tool.
    name: String,
    /// The arguments, at most 256 KiB.
    #[serde(default)]
    arguments: Value,
}

impl From<KindField> for InputKind {
    fn from(kind: KindField) -> Self {
        match kind {
            KindField::Text => Self::Text,
            KindField::Choice => Self::Choice,
            KindField::Confirm => Self::Confirm,
        }
    }
}

impl From<InputRequestRequest> for NewInputRequest {
    fn from(request: InputRequestRequest) -> Self {
        let tool_call = request.tool_call.map(|call| {
            let ToolCallRequest { id, name, arguments } = call;
            BoundToolCall { id, name, arguments }
        });
        let question = Question {
            prompt: request.prompt,
            agent: request.agent,
            kind: request.kind.into(),
            options: request.options,
            tool_call,
            metadata: request.metadata,
        };
        let InputRequestRequest { request_id, expires_in_sec, .. } = request;
        Self { request_id, question, expires_in_sec }
    }
}

/// Asks a question, and pauses the chat until it is answered.
///
/// Subscribers are sent the question when it is asked, or when they connect. Idempotent: a repeated
/// `request_id` with the same question returns the request in its current state.
#[operation(
    answers = "The question is asked",
    repeated = "It was asked before",
    problems = [CHAT_ENDED, INPUT_CONFLICT, TOO_MANY_INPUTS, METADATA_TOO_LARGE, INPUT_TOO_LARGE],
)]
pub(crate) async fn request_input(
    State(store): State<Arc<dyn Store>>,
    State(rates): State<Arc<Rates>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Query(()): Query<()>,
    Json(request): Json<InputRequestRequest>,
) -> Result<Created<InputRequestResponse>, Problem> {
    rates.check_question(&scope.app_id)?;
    let RequestedInput { request, outcome } =
        store.request_input(&scope, &chat_id, request.into()).await?;
    Ok(Created::new(request, outcome))
}
