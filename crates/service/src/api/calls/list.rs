use std::sync::Arc;

use axum::extract::State;
use persistence::{CallCursor, Store};
use records::AuditAction;
use serde::Serialize;
use utoipa::ToSchema;

use super::CallFields;
use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::UsageFields;

/// A page of a chat's calls, and the usage of all of its calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListCallsResponse {
    #[serde(flatten)]
    page: Page<CallFields>,
    /// The usage of all calls of the chat, not only of those on the page.
    usage: UsageFields,
}

/// Lists the calls of a chat, newest first, with the usage of all of its calls.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/calls", tag = "calls", operation_id = "list_calls",
    params(ChatPath, PageQuery<CallCursor>),
    security(("bearer_token" = ["manage"])),
    responses(
        (status = 200, description = "A page of calls", body = ListCallsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_calls(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    Query(query): Query<PageQuery<CallCursor>>,
) -> Result<Json<ListCallsResponse>, Problem> {
    let (page, usage) = tokio::try_join!(
        store.list_calls(&scope, &chat_id, query.limit, query.cursor.as_ref()),
        store.chat_usage(&scope, &chat_id),
    )?;
    store.record_chat_read(&scope, Some(&chat_id), AuditAction::ListCalls).await?;
    let page = Page::new(page.calls, page.next.as_ref());
    Ok(Json(ListCallsResponse { page, usage: usage.into() }))
}
