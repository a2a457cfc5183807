use std::sync::Arc;

use axum::extract::State;
use persistence::{InputCursor, InputPage, Store};
use records::ChatId;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use crate::admission::Reserve;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::InputRequestResponse;

/// The page of requests to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListInputRequestsQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<InputCursor>,
}

impl FromParams for ListInputRequestsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        let cursor = params.take_with("cursor", cursor::decode)?;
        let cursor = cursor.map(|(created_at, request_id)| InputCursor { created_at, request_id });
        Ok(Self { limit, cursor })
    }
}

/// A page of a chat's input requests.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListInputRequestsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    input_requests: Vec<InputRequestResponse>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl ListInputRequestsResponse {
    fn new(chat_id: ChatId, page: InputPage) -> Self {
        let next = page.next.map(|next| cursor::encode(next.created_at, next.request_id.as_str()));
        Self {
            chat_id: chat_id.into(),
            input_requests: page.requests.into_iter().map(Into::into).collect(),
            next_cursor: next,
        }
    }
}

/// Lists the pending and closed input requests of a chat, newest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/input-requests", tag = "input requests",
    operation_id = "list_input_requests", params(ChatPath, ListInputRequestsQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of input requests", body = ListInputRequestsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_input_requests(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<ListInputRequestsQuery>,
    _: Reserve<36>,
) -> Result<Json<ListInputRequestsResponse>, Problem> {
    let (limit, after) = (query.limit, query.cursor.as_ref());
    let page = store.list_input_requests(&scope, &chat_id, limit, after).await?;
    Ok(Json(ListInputRequestsResponse::new(chat_id, page)))
}
