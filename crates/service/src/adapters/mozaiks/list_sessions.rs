use axum::extract::State;
use operation::operation;
use persistence::{ChatFilter, ChatOrder};
use records::UserId;
use serde::Serialize;
use utoipa::ToSchema;

use super::general_chat::general_workflow;
use super::session::{SessionItem, Sessions};
use crate::adapters::ForeignQuery;
use crate::extract::needs::Read;
use crate::extract::{AppScope, Json, Path};
use crate::problem::Problem;
use crate::state::AppState;

/// The most runs in the list.
const LISTED: usize = 100;

/// The runs of a user that have not ended.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = WorkflowSessions)]
pub(crate) struct ListSessionsResponse {
    sessions: Vec<SessionItem>,
    /// The number of these runs.
    count: usize,
}

/// Lists the runs of a user that have not ended, the one in which something was said last first; at most 100.
#[operation(answers = "The runs", problems = [FORBIDDEN_OWNER])]
pub(crate) async fn list_workflow_sessions(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Read>,
    Path(user_id): Path<UserId>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<ListSessionsResponse>, Problem> {
    let sessions = Sessions { user_id, general: general_workflow(&state)? };
    let list = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    let found = sessions.list(&*state.store, &scope, list, LISTED).await?;
    let sessions: Vec<_> = found.into_iter().map(SessionItem::from).collect();
    Ok(Json(ListSessionsResponse { count: sessions.len(), sessions }))
}
