use std::sync::Arc;

use axum::extract::State;
use persistence::{CallCursor, CallPage, Store};
use records::{AuditAction, ChatId, Usage};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::CallFields;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::needs::Manage;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::UsageFields;

/// The page of calls to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListCallsQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<CallCursor>,
}

impl FromParams for ListCallsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        let cursor = params.take_with("cursor", cursor::decode)?;
        Ok(Self {
            limit,
            cursor: cursor.map(|(called_at, call_id)| CallCursor { called_at, call_id }),
        })
    }
}

/// A page of a chat's calls, and the usage of all of its calls.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListCallsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    calls: Vec<CallFields>,
    /// The usage of all calls of the chat, not only of those on the page.
    usage: UsageFields,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl ListCallsResponse {
    fn new(chat_id: ChatId, page: CallPage, usage: Usage) -> Self {
        let next = page.next.map(|next| cursor::encode(next.called_at, next.call_id.as_str()));
        Self {
            chat_id: chat_id.into(),
            calls: page.calls.into_iter().map(Into::into).collect(),
            usage: usage.into(),
            next_cursor: next,
        }
    }
}

/// Lists the calls of a chat, newest first, with the usage of all of its calls.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/calls", tag = "calls", operation_id = "list_calls",
    params(ChatPath, ListCallsQuery),
    security(("bearer_token" = ["manage"])),
    responses(
        (status = 200, description = "A page of calls", body = ListCallsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_calls(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Manage>,
    Query(query): Query<ListCallsQuery>,
) -> Result<Json<ListCallsResponse>, Problem> {
    let (page, usage) = tokio::try_join!(
        store.list_calls(&scope, &chat_id, query.limit, query.cursor.as_ref()),
        store.chat_usage(&scope, &chat_id),
    )?;
    store.record_chat_read(&scope, Some(&chat_id), AuditAction::ListCalls).await?;
    Ok(Json(ListCallsResponse::new(chat_id, page, usage)))
}
