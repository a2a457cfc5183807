use std::sync::Arc;

use axum::extract::State;
use persistence::{ChatFilter, Cursor, Page, Store};
use records::{ChatStatus, UserId, WorkflowName};
use serde::Serialize;
use utoipa::{IntoParams, ToSchema};

use super::ChatSessionResponse;
use crate::api::cursor;
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, Query};
use crate::openapi::AppPath;
use crate::problem::{AppProblems, Problem};
use crate::wire::Time;

/// The filter and the page of chat sessions to return.
#[derive(Debug, IntoParams)]
#[into_params(parameter_in = Query)]
pub(crate) struct ListChatsQuery {
    /// `mine` (default): the chats of the caller, those that they are a member of, and those that their team shares; for
    /// the role `service`, every chat. `app`: the chats that every user of the app finds.
    #[param(value_type = Option<String>, example = "app")]
    scope: ListScope,
    /// Only chats of this workflow.
    #[param(value_type = Option<String>)]
    workflow_name: Option<WorkflowName>,
    /// Only chats of this user.
    #[param(value_type = Option<String>)]
    user_id: Option<UserId>,
    /// Only chats in this status: `running`, `paused`, `completed` or `failed`.
    #[param(value_type = Option<String>, example = "running")]
    status: Option<ChatStatus>,
    /// Only chats created at or after this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_from: Option<Time>,
    /// Only chats created before this time.
    #[param(value_type = Option<String>, format = DateTime)]
    created_before: Option<Time>,
    /// The most entries of a page: 20 by default, at most 100.
    #[param(value_type = Option<usize>, minimum = 1)]
    limit: usize,
    /// The `next_cursor` of the previous page.
    #[param(value_type = Option<String>)]
    cursor: Option<Cursor>,
}

/// Which chats are listed.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ListScope {
    Mine,
    App,
}

impl FromParams for ListChatsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let limit = params.take_limit(limits)?;
        let cursor = params.take_with("cursor", cursor::decode)?;
        let scope = params.take_with("scope", |word| match word {
            "mine" => Ok(ListScope::Mine),
            "app" => Ok(ListScope::App),
            _ => Err("must be mine or app"),
        })?;
        Ok(Self {
            scope: scope.unwrap_or(ListScope::Mine),
            workflow_name: params.take("workflow_name")?,
            user_id: params.take("user_id")?,
            status: params.take_with("status", parse_status)?,
            created_from: params.take("created_from")?,
            created_before: params.take("created_before")?,
            limit,
            cursor: cursor.map(|(created_at, chat_id)| Cursor { created_at, chat_id }),
        })
    }
}

fn parse_status(word: &str) -> Result<ChatStatus, &'static str> {
    let named = ChatStatus::ALL.into_iter().find(|s| s.as_str() == word);
    named.ok_or("must be one of running, paused, completed, failed")
}

/// A page of chat sessions.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListChatsResponse {
    chats: Vec<ChatSessionResponse>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

impl From<Page> for ListChatsResponse {
    fn from(page: Page) -> Self {
        let next = page.next.map(|next| cursor::encode(next.created_at, next.chat_id.as_str()));
        Self { chats: page.chats.into_iter().map(Into::into).collect(), next_cursor: next }
    }
}

/// Lists the chat sessions of an app, newest first.
#[utoipa::path(
    get, path = "/api/chats/{app_id}", tag = "chat sessions", operation_id = "list_chats",
    params(AppPath, ListChatsQuery),
    security(("bearer_token" = ["read"])),
    responses(
        (status = 200, description = "A page of chat sessions", body = ListChatsResponse),
        AppProblems,
    ),
)]
pub(crate) async fn list_chats(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    Query(query): Query<ListChatsQuery>,
) -> Result<Json<ListChatsResponse>, Problem> {
    let filter = ChatFilter {
        of_app: query.scope == ListScope::App,
        workflow_name: query.workflow_name,
        user_id: query.user_id,
        status: query.status,
        created_from: query.created_from.map(|time| time.0),
        created_before: query.created_before.map(|time| time.0),
    };
    let page = store.list_chats(&scope, &filter, query.limit, query.cursor.as_ref()).await?;
    Ok(Json(page.into()))
}
