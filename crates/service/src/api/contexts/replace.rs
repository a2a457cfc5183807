use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use persistence::Store;
use records::JsonObject;

use super::ContextResponse;
use super::preference::Preference;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::{ChatPath, FencingHeader, IfMatchHeader, PreferHeader, values};
use crate::problem::{ContextProblems, Problem};

/// Replaces the context snapshot. The body is the snapshot: an object with any keys, at most 8 MiB.
#[utoipa::path(
    put, path = "/api/chats/{app_id}/{chat_id}/context", tag = "context snapshot",
    operation_id = "replace_context", params(ChatPath, FencingHeader, IfMatchHeader, PreferHeader),
    request_body = values::Variables,
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The snapshot as stored", body = ContextResponse,
            headers(("ETag", description = "The entity tag of the snapshot, after a write with `If-Match`"))),
        ContextProblems,
    ),
)]
pub(crate) async fn replace_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    preference: Preference,
    Json(data): Json<JsonObject>,
) -> Result<Response, Problem> {
    let snapshot = store.update_context_snapshot(&scope, &chat_id, data).await?;
    Ok(preference.respond(&scope, chat_id, snapshot))
}
