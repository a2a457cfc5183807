use axum::extract::State;
use operation::operation;
use persistence::{ChatFilter, ChatOrder};
use records::UserId;

use super::general_chat::general_workflow;
use super::session::{FoundSessionResponse, Sessions};
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{AppScope, Json, Path};
use crate::problem::Problem;
use crate::state::AppState;

/// Returns the run of a user in which something was said last, among those that have not ended.
#[operation(answers = "The run, if there is one", problems = [FORBIDDEN_OWNER])]
pub(crate) async fn recent_session(
    State(state): State<AppState>,
    AppScope(scope, _): AppScope<Read>,
    Path(user_id): Path<UserId>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<12>,
) -> Result<Json<FoundSessionResponse>, Problem> {
    let sessions = Sessions { user_id, general: general_workflow(&state)? };
    let list = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    let found = sessions.list(&*state.store, &scope, list, 1).await?;
    Ok(Json(FoundSessionResponse::first(&*state.store, &scope, found).await?))
}
