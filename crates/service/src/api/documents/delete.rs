use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;

use crate::extract::conditions::Seen;
use crate::extract::needs::Run;
use crate::extract::{DocumentScope, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Deletes a document for good. Idempotent.
#[operation(answers = "There is no such document")]
pub(crate) async fn delete_document(
    State(store): State<Arc<dyn Store>>,
    DocumentScope { scope, id: path, .. }: DocumentScope<Run, Seen>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    store.delete_document(&scope, &path).await?;
    Ok(NoContent)
}
