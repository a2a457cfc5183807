use std::sync::Arc;

use axum::extract::State;
use persistence::Store;
use records::TurnId;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::config::LimitsConfig;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::{ChatPath, FencingHeader};
use crate::problem::{DeleteResumePointsProblems, Problem};

/// Which resume points to delete.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct DeleteResumePointsQuery {
    /// Only those of this turn.
    #[param(value_type = Option<String>)]
    request_id: Option<TurnId>,
}

impl FromParams for DeleteResumePointsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { request_id: params.take("request_id")? })
    }
}

/// What was deleted.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct DeleteResumePointsResponse {
    /// How many there were.
    #[schema(example = 2)]
    deleted: u64,
}

/// Deletes resume points, once what they are of was resumed.
#[utoipa::path(
    delete, path = "/api/chats/{app_id}/{chat_id}/resume-points", tag = "turns",
    operation_id = "delete_resume_points", params(ChatPath, FencingHeader, DeleteResumePointsQuery),
    responses(
        (status = 200, description = "They are gone", body = DeleteResumePointsResponse),
        DeleteResumePointsProblems,
    ),
)]
pub(crate) async fn delete_resume_points(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(query): Query<DeleteResumePointsQuery>,
) -> Result<Json<DeleteResumePointsResponse>, Problem> {
    let request_id = query.request_id.as_ref();
    let deleted = store.delete_resume_points(&scope, &chat_id, request_id).await?;
    Ok(Json(DeleteResumePointsResponse { deleted }))
}
