use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use persistence::Store;
use records::TurnId;
use utoipa::IntoParams;

use crate::config::LimitsConfig;
use crate::extract::needs::Run;
use crate::extract::{ChatScope, FromParams, Params, Query};
use crate::openapi::{ChatPath, FencingHeader, values};
use crate::problem::{DeleteResumePointsProblems, Problem};

/// The resume points to delete.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeleteResumePointsQuery {
    /// Only resume points of this turn.
    #[param(value_type = Option<values::Name>)]
    request_id: Option<TurnId>,
}

impl FromParams for DeleteResumePointsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { request_id: params.take("request_id")? })
    }
}

/// Deletes resume points. A worker does this after it has resumed the turn. Idempotent.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/resume-points", tag = "turns",
    operation_id = "delete_resume_points", params(ChatPath, FencingHeader, DeleteResumePointsQuery),
    security(("bearer_token" = ["run"])),
    responses(
        (status = 204, description = "The chat has no such resume points"),
        DeleteResumePointsProblems,
    ),
)]
pub(crate) async fn delete_resume_points(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run>,
    Query(query): Query<DeleteResumePointsQuery>,
) -> Result<StatusCode, Problem> {
    let request_id = query.request_id.as_ref();
    store.delete_resume_points(&scope, &chat_id, request_id).await?;
    Ok(StatusCode::NO_CONTENT)
}
