use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use persistence::{AnsweredInput, Store};
use records::InputRequestId;
use records::json::Digest;
use records::{EventId, Location, NewInputAnswer, ToolCallRef, arguments_hash};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::messages::AuthorRequest;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Say;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Path, Query};
use crate::joining;
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::AppendedResponse;
use crate::wire::{self, InputRequestResponse, keep_null};

/// An answer to an input request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewInputAnswer, example = json!({"event_id": "evt_answer_1", "content": "MongoDB"}))]
pub(crate) struct AnswerRequest {
    /// The id of the message that the answer becomes, and its idempotency key; minted if missing.
    #[schema(value_type = Option<values::Name>)]
    event_id: Option<EventId>,
    /// The name of the person who answers; the caller if missing.
    name: Option<String>,
    /// The person who answers, if the caller is a service; a person always answers as themselves.
    author: Option<AuthorRequest>,
    /// The answer; its type depends on the kind of the question.
    content: Value,
    /// The tool call that the answer decides on; required if the question is bound to one.
    tool_call: Option<ToolCallRefRequest>,
}

impl Keyed for AnswerRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("event_id", &mut self.event_id)
    }
}

/// A tool call, identified by its arguments or by their hash.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = ToolCallRef)]
pub(crate) struct ToolCallRefRequest {
    id: String,
    name: String,
    /// The `arguments_hash` of the input request.
    arguments_hash: Option<String>,
    /// The arguments, instead of their hash.
    #[serde(default, deserialize_with = "keep_null")]
    #[schema(value_type = Option<Value>)]
    arguments: Option<Value>,
}

impl AnswerRequest {
    fn into_answer(self) -> Result<NewInputAnswer, Problem> {
        let tool_call = self.tool_call.map(ToolCallRefRequest::into_reference).transpose()?;
        let Self { event_id, name, content, .. } = self;
        let author = self.author.map(Into::into);
        Ok(NewInputAnswer { event_id, name, author, content, tool_call })
    }
}

impl ToolCallRefRequest {
    pub(crate) fn into_reference(self) -> Result<ToolCallRef, Problem> {
        let arguments_hash = match (&self.arguments_hash, &self.arguments) {
            (Some(hash), None) => read_hash(hash)?,
            (None, Some(arguments)) => arguments_hash(arguments),
            _ => {
                let detail = "must have exactly one of arguments_hash and arguments";
                return Err(Problem::invalid_body("/tool_call", detail));
            }
        };
        Ok(ToolCallRef { id: self.id, name: self.name, arguments_hash })
    }
}

fn read_hash(text: &str) -> Result<Digest, Problem> {
    let mut hash = Digest::default();
    hex::decode_to_slice(text, &mut hash).map_err(|_| {
        let detail = "must be 32 hexadecimal digits, as in the input request";
        Problem::invalid_body("/tool_call/arguments_hash", detail)
    })?;
    Ok(hash)
}

/// An answered input request.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = AnsweredInput)]
pub(crate) struct AnswerResponse {
    input_request: InputRequestResponse,
    /// The message that the answer became.
    message: AppendedResponse,
    /// The chat's counter afterwards: the sequence of the next message.
    #[schema(example = 5)]
    last_sequence: u64,
}

/// Answers an input request: the answer becomes a message with the role `user`. The chat runs again unless
/// other input requests are pending.
///
/// The first answer wins. Later ones are refused with `input-closed`, which contains the request and its
/// answer. Idempotent: a repeated `event_id` returns the first response.
#[operation(
    answers = "The request is answered",
    repeated = "The request was answered before, with this answer",
    problems = [INPUT_NOT_FOUND, INPUT_CLOSED, TOOL_CALL_MISMATCH, EVENT_CONFLICT, MESSAGE_TOO_LARGE],
)]
pub(crate) async fn answer_input_request(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Say, Fenced>,
    Path(request_id): Path<InputRequestId>,
    Query(()): Query<()>,
    Json(request): Json<AnswerRequest>,
) -> Result<(StatusCode, Json<AnswerResponse>), Problem> {
    let answer = request.into_answer()?;
    let answered = joining::answer(&*store, &scope, &chat_id, &request_id, answer).await;
    let place = |at| Location { item: None, ..at };
    let AnsweredInput { request, append } =
        answered.map_err(|error| Problem::located(error, place))?;
    let status = wire::write_status(append.messages.iter().map(|message| message.outcome));
    let (message, last_sequence) = (append.messages[0].clone().into(), append.last_sequence);
    Ok((status, Json(AnswerResponse { input_request: request.into(), message, last_sequence })))
}
