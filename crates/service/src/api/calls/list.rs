use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{CallCursor, Store};
use records::AuditAction;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::pages::{Page, PageQuery};
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, Json, Query};
use crate::problem::Problem;
use crate::wire::CallFields;
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
#[operation(answers = "A page of calls")]
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
