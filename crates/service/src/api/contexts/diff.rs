use std::sync::Arc;

use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use futures::try_join;
use operation::operation;
use persistence::{Store, offload};
use records::{ChatId, Limits};
use serde_json::Value;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::patch::write_patch;
use super::version::retained_version;
use crate::admission::Reserve;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query, declared};
use crate::operation::Prepared;
use crate::problem::{Problem, ProblemKind};

/// The largest patch: twice the largest snapshot.
const MAX_PATCH_BYTES: usize = 2 * Limits::SNAPSHOT_BYTES;

/// The versions to compare.
#[derive(Debug, IntoParams)]
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

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// The difference between two versions of the context snapshot.
#[derive(Debug, ToSchema)]
#[expect(dead_code, reason = "describes what `respond` writes")]
pub(crate) struct ContextDiffResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = 2)]
    from: u64,
    #[schema(example = 3)]
    to: u64,
    /// A JSON patch (RFC 6902) that turns `from` into `to`, of at most 16 MiB; empty if they are equal.
    #[schema(value_type = Vec<Object>, example = json!([{"op": "replace", "path": "/step", "value": 2}]))]
    patch: Vec<Value>,
}

/// Returns the difference between two versions of the context snapshot.
#[operation(answers = "The difference", problems = [CONTEXT_VERSION_NOT_FOUND, DIFF_TOO_LARGE])]
pub(crate) async fn diff_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(ContextDiffQuery { from, to }): Query<ContextDiffQuery>,
    _: Reserve<64>,
) -> Result<Prepared<Json<ContextDiffResponse>>, Problem> {
    let before = retained_version(&*store, &scope, &chat_id, from);
    let after = retained_version(&*store, &scope, &chat_id, to);
    let (before, after) = try_join!(before, after)?;
    let bytes = before.version.bytes.saturating_add(after.version.bytes);
    let comparing = move || write_patch(&before.data, &after.data, MAX_PATCH_BYTES);
    let patch = offload(usize::try_from(bytes).unwrap_or(usize::MAX), comparing).await;
    let patch = patch.ok_or_else(|| {
        let detail = format!(
            "the difference is larger than {MAX_PATCH_BYTES} bytes; read both versions instead"
        );
        Problem::new(ProblemKind::DIFF_TOO_LARGE, detail)
    })?;
    Ok(respond(&chat_id, from, to, patch))
}

/// Writes the response around a patch.
fn respond(
    chat_id: &ChatId,
    from: u64,
    to: u64,
    mut patch: Vec<u8>,
) -> Prepared<Json<ContextDiffResponse>> {
    let chat_id = Value::from(chat_id.as_str());
    let head = format!(r#"{{"chat_id":{chat_id},"from":{from},"to":{to},"patch":"#);
    patch.splice(..0, head.into_bytes());
    patch.push(b'}');
    Prepared::new(([(CONTENT_TYPE, "application/json")], patch))
}
