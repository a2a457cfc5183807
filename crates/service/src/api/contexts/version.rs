use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{ChatId, JsonObject, KeptContext, Scope};
use serde::Serialize;
use utoipa::ToSchema;

use super::history::ContextVersionFields;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, ContextVersion, Json, Path, Query};
use crate::problem::{Problem, ProblemKind};

/// One version of the context snapshot.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct KeptContextResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[serde(flatten)]
    version: ContextVersionFields,
    /// The variables.
    #[schema(value_type = Object, example = json!({"interview_complete": true}))]
    context_snapshot: JsonObject,
}

impl KeptContextResponse {
    pub(crate) fn new(chat_id: ChatId, kept: KeptContext) -> Self {
        let KeptContext { version, data } = kept;
        Self { chat_id: chat_id.into(), version: version.into(), context_snapshot: data }
    }
}

/// Returns a version of the context snapshot.
#[operation(answers = "The snapshot", problems = [CONTEXT_VERSION_NOT_FOUND])]
pub(crate) async fn get_context_version(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(ContextVersion(version)): Path<ContextVersion>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Json<KeptContextResponse>, Problem> {
    let kept = retained_version(&*store, &scope, &chat_id, version).await?;
    Ok(Json(KeptContextResponse::new(chat_id, kept)))
}

/// Returns a retained version, or the problem that it does not exist.
pub(super) async fn retained_version(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    version: u64,
) -> Result<KeptContext, Problem> {
    let kept = store.get_context_version(scope, chat_id, version).await?;
    kept.ok_or_else(|| {
        let detail = format!("version {version} of the context snapshot does not exist, or is no longer retained; list the history for those that are");
        Problem::new(ProblemKind::CONTEXT_VERSION_NOT_FOUND, detail)
    })
}
