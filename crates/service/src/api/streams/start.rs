use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{NewStream, StreamFormat, StreamHeader, StreamId, TurnId};
use serde::Deserialize;
use utoipa::ToSchema;

use crate::api::created::Created;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, IdempotencyKey, Json, Keyed, Query};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::StreamResponse;

/// A stream to start.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewStream, example = json!({"format": "ui_message", "agent": "writer"}))]
pub(crate) struct StartRequest {
    /// The idempotency key of the start; minted if missing.
    #[schema(value_type = Option<values::ChatId>)]
    stream_id: Option<StreamId>,
    format: FormatField,
    /// The agent that produces the answer.
    #[schema(value_type = Option<values::Name>)]
    agent: Option<String>,
    /// The turn that the answer becomes part of; by default the id of the stream.
    #[schema(value_type = Option<values::Name>)]
    request_id: Option<TurnId>,
}

/// What the chunks are: chunks of a UI message stream of the AI SDK (`ui_message`), updates of the Agent Client Protocol
/// (`acp`), or strings (`text`).
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = StreamFormat)]
enum FormatField {
    UiMessage,
    Acp,
    Text,
}

impl From<FormatField> for StreamFormat {
    fn from(format: FormatField) -> Self {
        match format {
            FormatField::UiMessage => Self::UiMessage,
            FormatField::Acp => Self::Acp,
            FormatField::Text => Self::Text,
        }
    }
}

impl Keyed for StartRequest {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("stream_id", &mut self.stream_id)
    }
}

/// Starts a stream: an answer that other people can follow while an agent produces it.
///
/// The agent sends the chunks of the answer, and ends the stream with the turn that it became. Streams that an earlier holder of
/// the lease has left running end as `superseded`. A chat has at most 16 running streams.
#[operation(
    answers = "The stream",
    repeated = "The stream, which an earlier request has started",
    problems = [CHAT_ENDED, STREAM_CONFLICT],
)]
pub(crate) async fn start_stream(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Query(()): Query<()>,
    Json(request): Json<StartRequest>,
) -> Result<Created<StreamResponse>, Problem> {
    let StartRequest { stream_id, format, agent, request_id } = request;
    let header = StreamHeader { format: format.into(), agent, request_id };
    let stream = NewStream { stream_id, header };
    Ok(store.start_stream(&scope, &chat_id, stream).await?.into())
}
