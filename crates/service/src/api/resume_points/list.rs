use std::sync::Arc;

use axum::extract::State;
use persistence::{ResumePointFilter, Store};
use records::{StackId, TurnId};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::ResumePointResponse;
use crate::config::Limits;
use crate::extract::{FromParams, InChat, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};

/// Which resume points to list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListResumePointsQuery {
    /// Only those of this turn.
    #[param(value_type = Option<String>)]
    request_id: Option<TurnId>,
    /// Only those of this call of a call stack.
    #[param(value_type = Option<String>)]
    stack_id: Option<StackId>,
}

impl FromParams for ListResumePointsQuery {
    fn from_params(params: &mut Params, _limits: &Limits) -> Result<Self, Problem> {
        Ok(Self { request_id: params.take("request_id")?, stack_id: params.take("stack_id")? })
    }
}

/// The resume points of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListResumePointsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// By turn and then by sequence: the last one is where to resume.
    resume_points: Vec<ResumePointResponse>,
}

/// Lists the steps that were not done; of more than 10,000 the latest.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/resume-points", tag = "turns",
    operation_id = "list_resume_points", params(ChatPath, ListResumePointsQuery),
    responses(
        (status = 200, description = "The resume points", body = ListResumePointsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_resume_points(
    State(store): State<Arc<dyn Store>>,
    InChat { scope, chat_id }: InChat,
    Query(query): Query<ListResumePointsQuery>,
) -> Result<Json<ListResumePointsResponse>, Problem> {
    let ListResumePointsQuery { request_id, stack_id } = query;
    let filter = ResumePointFilter { request_id, stack_id };
    let points = store.list_resume_points(&scope, &chat_id, &filter).await?;
    let resume_points = points.into_iter().map(Into::into).collect();
    Ok(Json(ListResumePointsResponse { chat_id: chat_id.into(), resume_points }))
}
