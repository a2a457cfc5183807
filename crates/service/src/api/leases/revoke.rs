use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, FromParams, Params, Query, declared};
use crate::operation::NoContent;
use crate::problem::Problem;
use crate::wire::Time;

/// The lease that is meant.
#[derive(Debug, IntoParams)]
pub(crate) struct LeaseQuery {
    /// When the lease was acquired, as the chat shows it; required, so that a repeat does not revoke the lease of the next
    /// worker.
    acquired_at: Time,
}

impl FromParams for LeaseQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let missing = || Problem::invalid_parameter("acquired_at", "is missing");
        Ok(Self { acquired_at: params.take("acquired_at")?.ok_or_else(missing)? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Revokes the lease of a worker, for those who manage the chat: when a worker hangs and the chat must go on before the lease
/// expires.
///
/// The worker's writes are `fenced` from then on. Idempotent. An entry of the audit log says who did it.
#[operation(answers = "The lease is revoked, or was gone already")]
pub(crate) async fn revoke_lease(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    Query(LeaseQuery { acquired_at }): Query<LeaseQuery>,
) -> Result<NoContent, Problem> {
    store.revoke_lease(&scope, &chat_id, acquired_at.0).await?;
    Ok(NoContent)
}
