use std::sync::Arc;

use axum::extract::State;
use futures::try_join;
use persistence::Store;
use serde::Serialize;
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::version::retained_version;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ContextVersionProblems, Problem};

/// The versions to compare.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ContextDiffQuery {
    /// The version to start from.
    #[param(minimum = 1)]
    from: u64,
    /// The version to end with; it may be older than `from`.
    #[param(minimum = 1)]
    to: u64,
}

impl FromParams for ContextDiffQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let mut version = |name| {
            let version = params.take_in(name, 1..=i64::MAX.unsigned_abs())?;
            version.ok_or_else(|| Problem::invalid_parameter(name, "is missing"))
        };
        Ok(Self { from: version("from")?, to: version("to")? })
    }
}

/// The difference between two versions of the context snapshot.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ContextDiffResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = 2)]
    from: u64,
    #[schema(example = 3)]
    to: u64,
    /// A JSON patch (RFC 6902) that turns `from` into `to`; empty if they are equal.
    #[schema(value_type = Vec<Object>, example = json!([{"op": "replace", "path": "/step", "value": 2}]))]
    patch: json_patch::Patch,
}

/// Returns the difference between two versions of the context snapshot.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/context/diff", tag = "context snapshot",
    operation_id = "diff_context", params(ChatPath, ContextDiffQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "The difference", body = ContextDiffResponse),
        ContextVersionProblems,
    ),
)]
pub(crate) async fn diff_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(ContextDiffQuery { from, to }): Query<ContextDiffQuery>,
) -> Result<Json<ContextDiffResponse>, Problem> {
    let before = retained_version(&*store, &scope, &chat_id, from);
    let after = retained_version(&*store, &scope, &chat_id, to);
    let (before, after) = try_join!(before, after)?;
    let patch = json_patch::diff(&Value::Object(before.data), &Value::Object(after.data));
    Ok(Json(ContextDiffResponse { chat_id: chat_id.into(), from, to, patch }))
}
