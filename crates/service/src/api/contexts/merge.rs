use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use persistence::Store;

use super::ContextResponse;
use super::preference::Preference;
use crate::admission::Reserve;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, MergePatch, Query};
use crate::openapi::{ChatPath, FencingHeader, IfMatchHeader, PreferHeader, values};
use crate::problem::{ContextProblems, Problem};

/// Merges a JSON merge patch (RFC 7386) into the context snapshot.
///
/// Null removes a key, an object is merged into an object, any other value replaces. Concurrent patches are
/// all applied, one after the other.
#[utoipa::path(
    patch, path = "/api/chats/{app_id}/{chat_id}/context", tag = "context snapshot",
    operation_id = "merge_context", params(ChatPath, FencingHeader, IfMatchHeader, PreferHeader),
    request_body(
        content(
            (values::Variables = "application/json"),
            (values::Variables = "application/merge-patch+json"),
        ),
    ),
    security(("bearer_token" = ["run"])),
    responses(
        (status = 200, description = "The whole snapshot after the merge", body = ContextResponse,
            headers(("ETag", description = "The entity tag of the snapshot, after a write with `If-Match`"))),
        ContextProblems,
    ),
)]
pub(crate) async fn merge_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(()): Query<()>,
    preference: Preference,
    _: Reserve<12>,
    MergePatch(patch): MergePatch,
) -> Result<Response, Problem> {
    let snapshot = store.merge_context_snapshot(&scope, &chat_id, patch).await?;
    Ok(preference.respond(&scope, chat_id, snapshot))
}
