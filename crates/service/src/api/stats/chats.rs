use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ChatStats, ChatStatsPage, Cursor, Store};
use records::ChatStatus;
use serde::Serialize;
use utoipa::ToSchema;

use super::workflow::duration_sec;
use crate::api::pages::{self, PageQuery};
use crate::extract::{Json, Query, WorkflowScope};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{Time, UsageFields};

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
    /// Null if the chat was removed before it had ended.
    #[schema(value_type = Option<values::ChatStatus>)]
    status: Option<ChatStatus>,
    started_at: Time,
    /// Seconds from the start to the end of the chat, or until now; 0 if the chat was removed before it had ended.
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
        let next = page.next.as_ref().map(pages::Cursor::encode);
        Self { chats: page.chats.into_iter().map(Into::into).collect(), next_cursor: next }
    }
}

/// Lists the chats of a workflow with their durations and usage, newest first.
#[operation(answers = "A page of chats")]
pub(crate) async fn list_chat_stats(
    State(store): State<Arc<dyn Store>>,
    WorkflowScope { app_id, workflow_name }: WorkflowScope,
    Query(query): Query<PageQuery<Cursor>>,
) -> Result<Json<ListChatStatsResponse>, Problem> {
    let after = query.cursor.as_ref();
    let page = store.list_chat_stats(&app_id, &workflow_name, query.limit, after).await?;
    Ok(Json(page.into()))
}
