use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use super::preference::Preference;
use crate::admission::Reserve;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, Json, MergePatch, Query, Tagged};
use crate::operation::Prepared;
use crate::problem::Problem;
use crate::wire::ContextResponse;

/// Merges a JSON merge patch (RFC 7386) into the context snapshot.
///
/// Null removes a key, an object is merged into an object, any other value replaces. Concurrent patches are
/// all applied, one after the other.
#[operation(answers = "The whole snapshot after the merge", problems = [CONTEXT_TOO_LARGE])]
pub(crate) async fn merge_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Conditional>,
    Query(()): Query<()>,
    preference: Preference,
    _: Reserve<12>,
    MergePatch(patch): MergePatch,
) -> Result<Tagged<Prepared<Json<ContextResponse>>>, Problem> {
    let snapshot = store.merge_context_snapshot(&scope, &chat_id, patch).await?;
    Ok(preference.respond(&scope, chat_id, snapshot))
}
