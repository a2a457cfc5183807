use std::sync::Arc;

use axum::extract::State;
use persistence::{InputCursor, Store};

use crate::admission::Reserve;
use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::InputRequestResponse;

/// Lists the pending and closed input requests of a chat, newest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/input-requests", tag = "input requests",
    operation_id = "list_input_requests", params(ChatPath, PageQuery<InputCursor>),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of input requests", body = Page<InputRequestResponse>),
        ChatProblems,
    ),
)]
pub(crate) async fn list_input_requests(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Query(query): Query<PageQuery<InputCursor>>,
    _: Reserve<36>,
) -> Result<Json<Page<InputRequestResponse>>, Problem> {
    let (limit, after) = (query.limit, query.cursor.as_ref());
    let page = store.list_input_requests(&scope, &chat_id, limit, after).await?;
    Ok(Json(Page::new(page.requests, page.next.as_ref())))
}
