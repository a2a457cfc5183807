use std::sync::Arc;

use axum::extract::State;
use persistence::{ResumePointCursor, ResumePointFilter, Store};
use records::{StackId, TurnId};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::ResumePointResponse;
use crate::admission::Reserve;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};

/// The filter and the page of resume points to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListResumePointsQuery {
    /// Only resume points of this turn.
    #[param(value_type = Option<String>)]
    request_id: Option<TurnId>,
    /// Only resume points of this call in a call stack.
    #[param(value_type = Option<String>)]
    stack_id: Option<StackId>,
    /// The most entries of a page: 20 by default, at most 100; fewer if they are large.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
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
    /// The latest first, by turn and then by step: the very first is where to resume.
    resume_points: Vec<ResumePointResponse>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// Lists the resume points of a chat, the latest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/resume-points", tag = "turns",
    operation_id = "list_resume_points", params(ChatPath, ListResumePointsQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of resume points", body = ListResumePointsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_resume_points(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ListResumePointsQuery>,
    _: Reserve<16>,
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
