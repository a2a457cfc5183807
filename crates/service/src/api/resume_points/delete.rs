use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::TurnId;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::conditions::Fenced;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, FromParams, Params, Query, declared};
use crate::openapi::values;
use crate::operation::NoContent;
use crate::problem::Problem;

/// The resume points to delete.
#[derive(Debug, IntoParams)]
pub(crate) struct DeleteResumePointsQuery {
    /// Only resume points of this turn.
    #[param(value_type = Option<values::Name>)]
    request_id: Option<TurnId>,
}

impl FromParams for DeleteResumePointsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { request_id: params.take("request_id")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Deletes resume points. A worker does this after it has resumed the turn. Idempotent.
#[operation(answers = "The chat has no such resume points")]
pub(crate) async fn delete_resume_points(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    Query(query): Query<DeleteResumePointsQuery>,
) -> Result<NoContent, Problem> {
    let request_id = query.request_id.as_ref();
    store.delete_resume_points(&scope, &chat_id, request_id).await?;
    Ok(NoContent)
}
