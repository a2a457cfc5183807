use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{ChatId, Hold};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::extract::{Json, Keyed, OperatedApp, Path, Query};
use crate::problem::Problem;
use crate::wire::Time;

/// Why a chat is put under hold.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = NewHold, example = json!({"reason": "dispute 7"}))]
pub(crate) struct HoldRequest {
    /// For operators, at most 1,000 characters.
    #[schema(max_length = 1000)]
    reason: String,
}

impl Keyed for HoldRequest {}

/// A hold of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Hold)]
pub(crate) struct HoldResponse {
    /// Why, for operators.
    #[schema(example = "dispute 7")]
    reason: String,
    /// When the hold began, or when its reason was changed.
    since: Time,
}

impl From<Hold> for HoldResponse {
    fn from(hold: Hold) -> Self {
        Self { reason: hold.reason, since: hold.since.into() }
    }
}

/// Puts a chat under hold, so that it is never purged. Idempotent.
///
/// A deleted chat is found as well. Its callers do not see the hold.
#[operation(answers = "The hold", problems = [CHAT_NOT_FOUND, UPGRADE_PENDING])]
pub(crate) async fn hold_chat(
    State(store): State<Arc<dyn Store>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Path(chat_id): Path<ChatId>,
    Query(()): Query<()>,
    Json(request): Json<HoldRequest>,
) -> Result<Json<HoldResponse>, Problem> {
    let hold = store.set_hold(&actor, &app_id, &chat_id, Some(&request.reason)).await?;
    // A hold that another operator has lifted meanwhile is not there any more.
    let hold = hold.ok_or(StoreError::ChatNotFound(chat_id))?;
    Ok(Json(hold.into()))
}
