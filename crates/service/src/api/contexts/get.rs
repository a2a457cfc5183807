use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query, Tagged};
use crate::problem::Problem;
use crate::wire::ContextResponse;

/// Returns the context snapshot.
#[operation(answers = "The context snapshot")]
pub(crate) async fn get_context(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(()): Query<()>,
    _: Reserve<12>,
) -> Result<Tagged<Json<ContextResponse>>, Problem> {
    let versions = store.record_versions(&scope, &chat_id).await?;
    let snapshot = store.load_context_snapshot(&scope, &chat_id).await?;
    let response = Json(ContextResponse::new(chat_id, snapshot));
    Ok(Tagged { tag: Some(versions.context.to_string()), response })
}
