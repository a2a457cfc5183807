use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, StoreError};
use records::{Caller, Lifecycle, SessionChange};
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::conditions::Conditional;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, FromParams, Params, Query, declared};
use crate::operation::NoContent;
use crate::problem::{Problem, ProblemKind};

/// How a chat is deleted.
#[derive(Debug, IntoParams)]
pub(crate) struct DeleteChatQuery {
    /// Whether what was said in the chat is removed for good, at once. Only for the role `service`.
    #[param(value_type = Option<bool>)]
    purge: bool,
}

impl FromParams for DeleteChatQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { purge: params.take("purge")?.unwrap_or_default() })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Deletes a chat. Idempotent.
///
/// From then on the chat is not found, its lease is gone and its streams end. What was said in it stays stored until it is
/// purged: until then `undelete` gives everything back. Forks of the chat stay as they are.
///
/// With `purge=true` it is purged at once, deleted or not. A chat that was purged is not found.
#[operation(
    answers = "The chat is deleted, or purged",
    problems = [UPGRADE_PENDING, CHAT_HELD, FORBIDDEN_ROLE],
)]
pub(crate) async fn delete_chat(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage, Conditional>,
    Query(query): Query<DeleteChatQuery>,
) -> Result<NoContent, Problem> {
    if query.purge {
        if scope.caller != Caller::Service {
            let detail = "only a token with the role service may purge a chat";
            return Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail));
        }
        // A purge has no conditions of its own: `If-Match` and the fencing token are checked first.
        let unchanged = SessionChange::default();
        match store.change_chat(&scope.finding_deleted(), &chat_id, unchanged).await {
            // Only the purge finds a chat that was purged.
            Ok(_) | Err(StoreError::ChatNotFound(_)) => {}
            Err(refused) => return Err(refused.into()),
        }
        store.purge_chat(&scope.actor(), &scope, &chat_id, None).await?;
        return Ok(NoContent);
    }
    let change = SessionChange::to_lifecycle(Lifecycle::Deleted);
    store.change_chat(&scope.finding_deleted(), &chat_id, change).await?;
    Ok(NoContent)
}
