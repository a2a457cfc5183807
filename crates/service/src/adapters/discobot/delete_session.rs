use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::Permission;

use super::clear::clear;
use super::session_file::SessionFileChange;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::extract::ChatScope;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::operation::NoContent;
use crate::problem::Problem;

/// Removes the record of a session and deletes its messages. Idempotent.
///
/// The chat stays, so that its id can be used again.
#[operation(answers = "The session has no record and no messages")]
pub(crate) async fn delete_session(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<9>,
) -> Result<NoContent, Problem> {
    let deleted = async {
        clear(&*store, &scope, &chat_id).await?;
        let managing = scope.needing(Permission::Manage);
        SessionFileChange::default().store(&*store, &managing, &chat_id).await
    };
    match deleted.await {
        Ok(_) | Err(StoreError::ChatNotFound(_)) => Ok(NoContent),
        Err(error) => Err(error.into()),
    }
}
