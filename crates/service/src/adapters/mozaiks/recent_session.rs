use axum::extract::State;
use operation::operation;
use persistence::{ChatFilter, ChatOrder};
use records::UserId;

use super::session::FoundSessionResponse;
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
    let list = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    Ok(Json(FoundSessionResponse::first(&state, &scope, user_id, list).await?))
}
