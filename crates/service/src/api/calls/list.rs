use std::sync::Arc;

use axum::extract::State;
use persistence::{CallCursor, CallPage, Store};
use records::{ChatId, Usage};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::CallFields;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::{ChatScope, FromParams, Json, Params, Query};
use crate::openapi::ChatPath;
use crate::problem::{ChatProblems, Problem};
use crate::wire::UsageFields;

/// Which calls to list.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListCallsQuery {
    /// At most this many, 20 unless said, up to 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the page before.
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

/// A page of a chat's calls, and what all of them took.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListCallsResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    calls: Vec<CallFields>,
    /// What all calls of the chat took, not those of the page alone.
    usage: UsageFields,
    /// Where the next page begins; null when this is the last one.
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

/// Lists the calls of a chat, newest first, with what all of them took.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/calls", tag = "calls", operation_id = "list_calls",
    params(ChatPath, ListCallsQuery),
    responses(
        (status = 200, description = "A page of calls", body = ListCallsResponse),
        ChatProblems,
    ),
)]
pub(crate) async fn list_calls(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id }: ChatScope,
    Query(query): Query<ListCallsQuery>,
) -> Result<Json<ListCallsResponse>, Problem> {
    let (page, usage) = tokio::try_join!(
        store.list_calls(&scope, &chat_id, query.limit, query.cursor.as_ref()),
        store.chat_usage(&scope, &chat_id),
    )?;
    Ok(Json(ListCallsResponse::new(chat_id, page, usage)))
}
