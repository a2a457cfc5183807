use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ChatFilter, Cursor, Store};
use records::{ChatStatus, Lifecycle, Permission, UserId, WorkflowName};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Params, Query, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::ChatSessionResponse;
use crate::wire::Time;

/// The filter and the page of chat sessions to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ListChatsQuery {
    /// `mine` (default): the chats of the caller, those that they are a member of, and those that their team shares; for
    /// the role `service`, every chat. `app`: the chats that every user of the app finds.
    #[param(inline, value_type = Option<ListScope>)]
    scope: ListScope,
    /// Only chats of this workflow.
    #[param(value_type = Option<values::Name>)]
    workflow_name: Option<WorkflowName>,
    /// Only chats of this user.
    #[param(value_type = Option<values::Name>)]
    user_id: Option<UserId>,
    /// Only chats in this status: `running`, `paused`, `completed` or `failed`.
    #[param(value_type = Option<values::ChatStatus>)]
    status: Option<ChatStatus>,
    /// Only chats created at or after this time.
    #[param(value_type = Option<Time>)]
    created_from: Option<Time>,
    /// Only chats created before this time.
    #[param(value_type = Option<Time>)]
    created_before: Option<Time>,
    /// Only chats in this lifecycle: `active` (default), `archived`, `deleted`, which lists the chats that the caller
    /// manages, or `all`, which are the active and the archived ones.
    #[param(inline, value_type = Option<ListLifecycle>)]
    lifecycle: ListLifecycle,
    #[param(ignore)]
    page: PageQuery<Cursor>,
}

/// The lifecycles of the chats that are listed.
#[derive(Debug, Clone, Copy, PartialEq, ToSchema)]
#[schema(rename_all = "snake_case")]
enum ListLifecycle {
    Active,
    Archived,
    Deleted,
    All,
}

impl From<ListLifecycle> for Option<Lifecycle> {
    fn from(lifecycle: ListLifecycle) -> Self {
        match lifecycle {
            ListLifecycle::Active => Some(Lifecycle::Active),
            ListLifecycle::Archived => Some(Lifecycle::Archived),
            ListLifecycle::Deleted => Some(Lifecycle::Deleted),
            ListLifecycle::All => None,
        }
    }
}

/// Which chats are listed.
#[derive(Debug, Clone, Copy, PartialEq, ToSchema)]
#[schema(rename_all = "snake_case")]
enum ListScope {
    Mine,
    App,
}

impl FromParams for ListChatsQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let scope = params.take_with("scope", |word| match word {
            "mine" => Ok(ListScope::Mine),
            "app" => Ok(ListScope::App),
            _ => Err("must be mine or app"),
        })?;
        let lifecycle = params.take_with("lifecycle", |word| match word {
            "active" => Ok(ListLifecycle::Active),
            "archived" => Ok(ListLifecycle::Archived),
            "deleted" => Ok(ListLifecycle::Deleted),
            "all" => Ok(ListLifecycle::All),
            _ => Err("must be active, archived, deleted or all"),
        })?;
        Ok(Self {
            lifecycle: lifecycle.unwrap_or(ListLifecycle::Active),
            scope: scope.unwrap_or(ListScope::Mine),
            workflow_name: params.take("workflow_name")?,
            user_id: params.take("user_id")?,
            status: params.take_with("status", parse_status)?,
            created_from: params.take("created_from")?,
            created_before: params.take("created_before")?,
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        [declared::<Self>(), PageQuery::<Cursor>::described()].concat()
    }
}

fn parse_status(word: &str) -> Result<ChatStatus, &'static str> {
    let named = ChatStatus::ALL.into_iter().find(|s| s.as_str() == word);
    named.ok_or("must be one of running, paused, completed, failed")
}

/// Lists the chat sessions of an app, newest first.
#[operation(answers = "A page of chat sessions")]
pub(crate) async fn list_chats(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    Query(query): Query<ListChatsQuery>,
) -> Result<Page<ChatSessionResponse>, Problem> {
    let filter = ChatFilter {
        of_app: query.scope == ListScope::App,
        workflow_name: query.workflow_name,
        user_id: query.user_id,
        status: query.status,
        created_from: query.created_from.map(|time| time.0),
        created_before: query.created_before.map(|time| time.0),
        lifecycle: query.lifecycle.into(),
    };
    let scope = match query.lifecycle {
        ListLifecycle::Deleted => scope.needing(Permission::Manage).finding_deleted(),
        _ => scope,
    };
    let PageQuery { limit, cursor } = query.page;
    let page = store.list_chats(&scope, &filter, limit, cursor.as_ref()).await?;
    Ok(Page::new(page.chats, page.next.as_ref()))
}
