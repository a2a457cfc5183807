use std::sync::Arc;

use axum::extract::State;
use persistence::{ChatStats, ChatStatsPage, Cursor, Store};
use records::ChatStatus;
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::workflow::duration_sec;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::{FromParams, Json, Params, Query, WorkflowScope};
use crate::openapi::{AppPath, WorkflowPath};
use crate::problem::{Problem, StatsProblems};
use crate::wire::{Time, UsageFields};

/// The page of chats to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListChatStatsQuery {
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
}

impl FromParams for ListChatStatsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        let cursor = params.take_with("cursor", cursor::decode)?;
        Ok(Self {
            limit,
            cursor: cursor.map(|(created_at, chat_id)| Cursor { created_at, chat_id }),
        })
    }
}

/// A page of a workflow's chats.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListChatStatsResponse {
    chats: Vec<ChatStatsFields>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// The duration and usage of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatStats)]
struct ChatStatsFields {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(value_type = String, example = "completed")]
    status: ChatStatus,
    started_at: Time,
    /// Seconds from the start to the end of the chat, or until now.
    #[schema(example = 300.0)]
    duration_sec: f64,
    usage: UsageFields,
}

impl From<ChatStats> for ChatStatsFields {
    fn from(chat: ChatStats) -> Self {
        Self {
            duration_sec: duration_sec(&chat),
            chat_id: chat.chat_id.into(),
            status: chat.status,
            started_at: chat.started_at.into(),
            usage: chat.usage.into(),
        }
    }
}

impl From<ChatStatsPage> for ListChatStatsResponse {
    fn from(page: ChatStatsPage) -> Self {
        let next = page.next.map(|next| cursor::encode(next.created_at, next.chat_id.as_str()));
        Self { chats: page.chats.into_iter().map(Into::into).collect(), next_cursor: next }
    }
}

/// Lists the chats of a workflow with their durations and usage, newest first.
#[utoipa::path(
    get, path = "/api/stats/{app_id}/{workflow_name}/chats", tag = "stats",
    operation_id = "list_chat_stats", params(AppPath, WorkflowPath, ListChatStatsQuery),
    security(("bearer_token" = ["observe"])),
    responses(
        (status = 200, description = "A page of chats", body = ListChatStatsResponse),
        StatsProblems,
    ),
)]
pub(crate) async fn list_chat_stats(
    State(store): State<Arc<dyn Store>>,
    WorkflowScope { app_id, workflow_name }: WorkflowScope,
    Query(query): Query<ListChatStatsQuery>,
) -> Result<Json<ListChatStatsResponse>, Problem> {
    let after = query.cursor.as_ref();
    let page = store.list_chat_stats(&app_id, &workflow_name, query.limit, after).await?;
    Ok(Json(page.into()))
}
