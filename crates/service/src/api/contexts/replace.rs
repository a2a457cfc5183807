use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use super::preference::Preference;
use super::variables::Variables;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, Query, Tagged};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::wire::ContextResponse;

/// Replaces the context snapshot. The body is the snapshot: an object with any keys, at most 8 MiB.
#[operation(answers = "The snapshot as stored", problems = [CONTEXT_TOO_LARGE])]
pub(crate) async fn replace_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Conditional>,
    Query(()): Query<()>,
    preference: Preference,
    Json(Variables(data)): Json<Variables>,
) -> Result<Tagged<Prepared<Json<ContextResponse>>>, Problem> {
    let snapshot = store.update_context_snapshot(&scope, &chat_id, data).await?;
    Ok(preference.respond(&scope, chat_id, snapshot))
}
