use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, Takeover};
use records::StreamId;
use serde::Deserialize;
use utoipa::ToSchema;

use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, Path, Query};
use crate::problem::Problem;
use crate::wire::StreamResponse;

/// How a stream is taken over.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = StreamTakeover, example = json!({"mode": "continue"}))]
pub(crate) struct TakeOverRequest {
    mode: Mode,
    /// Of a restart, the `attempt` of the stream whose chunks are void then. With it the request is idempotent: without it, a
    /// repeat also voids what was added since.
    #[schema(minimum = 1)]
    attempt: Option<u32>,
}

/// Whether the chunks so far stay (`continue`), or the answer begins again (`restart`).
#[derive(Debug, Clone, Copy, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
#[schema(as = TakeoverMode)]
enum Mode {
    Continue,
    Restart,
}

impl Keyed for TakeOverRequest {}

/// Lets the holder of a newer lease write a running stream, whose agent is gone.
///
/// The header `Fencing-Token` says which lease. Its own stream a caller may restart. Those who follow the stream are told:
/// `stream-started` comes again, with a larger `attempt` if the answer begins again. Idempotent, for a restart if it has `attempt`.
#[operation(answers = "The stream", problems = [STREAM_NOT_FOUND, STREAM_CONFLICT])]
pub(crate) async fn take_over_stream(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Path(stream_id): Path<StreamId>,
    Query(()): Query<()>,
    Json(request): Json<TakeOverRequest>,
) -> Result<Json<StreamResponse>, Problem> {
    let takeover = match request.mode {
        Mode::Continue => Takeover::Continue,
        Mode::Restart => Takeover::Restart { attempt: request.attempt },
    };
    Ok(Json(store.take_over_stream(&scope, &chat_id, &stream_id, takeover).await?.into()))
}
