use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Deserialize;
use utoipa::ToSchema;

use super::preference::Preference;
use super::version::retained_version;
use crate::admission::Reserve;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Keyed, Query, Tagged};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::wire::ContextResponse;

/// The version to restore.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(example = json!({"version": 2}))]
pub(crate) struct RestoreContextRequest {
    version: u64,
}

impl Keyed for RestoreContextRequest {}

/// Restores an earlier version: writes its variables as a new version.
///
/// The new version reflects all messages that the chat has now.
#[operation(answers = "The snapshot as stored", problems = [CONTEXT_VERSION_NOT_FOUND])]
pub(crate) async fn restore_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Conditional>,
    Query(()): Query<()>,
    preference: Preference,
    _: Reserve<12>,
    Json(request): Json<RestoreContextRequest>,
) -> Result<Tagged<Prepared<Json<ContextResponse>>>, Problem> {
    let kept = retained_version(&*store, &scope, &chat_id, request.version).await?;
    let snapshot = store.update_context_snapshot(&scope, &chat_id, kept.data).await?;
    Ok(preference.respond(&scope, chat_id, snapshot))
}
