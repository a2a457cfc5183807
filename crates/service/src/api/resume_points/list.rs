use std::sync::Arc;

use axum::extract::State;
use persistence::{ResumePointCursor, ResumePointFilter, Store};
use records::{StackId, TurnId};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::ResumePointResponse;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
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
    /// At most this many, 20 unless said, up to 100; fewer where they are large.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the page before.
    #[param(value_type = Option<String>)]
    cursor: Option<ResumePointCursor>,
}

impl FromParams for ListResumePointsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self {
            request_id: params.take("request_id")?,
            stack_id: params.take("stack_id")?,
            limit: params.take_limit(limits)?,
            cursor: params.take_with("cursor", cursor::decode_point)?,
        })
    }
}

/// A page of the resume points of a chat.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListResumePointsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    /// The latest first, by turn and then by sequence: the first of all is where to resume.
    resume_points: Vec<ResumePointResponse>,
    /// Where the next page begins; null when this is the last one.
    next_cursor: Option<String>,
}

/// Lists the steps that were not done, the latest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/resume-points", tag = "turns",
    operation_id = "list_resume_points", params(ChatPath, ListResumePointsQuery),
    responses(
        (status = 200, description = "A page of resume points", body = ListResumePointsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_resume_points(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(query): Query<ListResumePointsQuery>,
) -> Result<Json<ListResumePointsResponse>, Problem> {
    let ListResumePointsQuery { request_id, stack_id, limit, cursor } = query;
    let filter = ResumePointFilter { request_id, stack_id };
    let page = store.list_resume_points(&scope, &chat_id, &filter, limit, cursor).await?;
    Ok(Json(ListResumePointsResponse {
        chat_id: chat_id.into(),
        resume_points: page.points.into_iter().map(Into::into).collect(),
        next_cursor: page.next.map(cursor::encode_point),
    }))
}
