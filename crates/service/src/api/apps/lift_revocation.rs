use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{RevocationKey, RevocationTarget, UserId};

use crate::extract::{OperatedApp, Path, Query};
use crate::operation::NoContent;
use crate::problem::Problem;

/// Accepts the tokens of a user in an app again. Idempotent.
#[operation(answers = "No tokens of the user are revoked in this app")]
pub(crate) async fn lift_revocation(
    State(store): State<Arc<dyn Store>>,
    OperatedApp { app_id, actor }: OperatedApp,
    Path(user_id): Path<UserId>,
    Query(()): Query<()>,
) -> Result<NoContent, Problem> {
    let target = RevocationTarget::User(user_id);
    store.lift_revocation(&actor, &RevocationKey { target, app_id: Some(app_id) }).await?;
    Ok(NoContent)
}
