use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ChatCount, ChatFilter, ChatOrder, ListCursor, Store, StoreError};
use records::{
    AssistantId, ChatStatus, Invalid, Lifecycle, Permission, TeamId, TitlePart, TurnOutcome,
    UserId, WorkflowName,
};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::api::pages::{Page, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, Query, declared};
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
    /// Only chats that this user is a member of; for a user they themselves.
    #[param(value_type = Option<values::Name>)]
    member: Option<UserId>,
    /// Only chats of this team.
    #[param(value_type = Option<values::Name>)]
    team_id: Option<TeamId>,
    /// Only chats with this assistant.
    #[param(value_type = Option<values::Name>)]
    assistant_id: Option<AssistantId>,
    /// Only chats whose title has these characters in a row, in any case.
    #[param(value_type = Option<String>, min_length = 3, max_length = 64, example = "picnic")]
    title_contains: Option<TitlePart>,
    /// Only chats in one of these statuses, separated by commas: `running`, `paused`, `completed`, `failed`.
    #[param(value_type = Option<values::ChatStatuses>)]
    status: Vec<ChatStatus>,
    /// `true`: only chats with a pending input request.
    #[param(value_type = Option<bool>)]
    needs_input: bool,
    /// Only chats whose last turn ended so: `completed`, `interrupted` or `failed`.
    #[param(inline, value_type = Option<values::TurnOutcome>)]
    last_turn_outcome: Option<TurnOutcome>,
    /// Only chats created at or after this time.
    #[param(value_type = Option<Time>)]
    created_from: Option<Time>,
    /// Only chats created before this time.
    #[param(value_type = Option<Time>)]
    created_before: Option<Time>,
    /// Only chats last active in the minute of this time or later.
    #[param(value_type = Option<Time>)]
    active_from: Option<Time>,
    /// Only chats last active before the minute of this time.
    #[param(value_type = Option<Time>)]
    active_before: Option<Time>,
    /// Only chats in this lifecycle: `active` (default), `archived`, `deleted`, which lists the chats that the caller
    /// manages, or `all`, which are the active and the archived ones.
    #[param(inline, value_type = Option<ListLifecycle>)]
    lifecycle: ListLifecycle,
    /// `created` (default): newest first by creation. `active`: newest first by last activity, which is the last message
    /// or else the creation. Its pages may hold fewer chats. The error of a list that is not served names those that are.
    #[param(inline, value_type = Option<ListOrder>)]
    order_by: ListOrder,
    /// `true`: count the chats of the whole list, in `total` or `total_is_at_least`.
    #[param(value_type = Option<bool>)]
    total: bool,
    #[param(ignore)]
    page: PageQuery<ListCursor>,
}

/// A page of chat sessions, and how many the whole list has if the request asks for it.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListChatsResponse {
    #[serde(flatten)]
    page: Page<ChatSessionResponse>,
    /// The number of chats in the whole list, if it is at most 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// 10,000, if the list has more chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_is_at_least: Option<usize>,
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

/// What a list is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, ToSchema)]
#[schema(rename_all = "snake_case")]
enum ListOrder {
    Created,
    Active,
}

impl From<ListOrder> for ChatOrder {
    fn from(order: ListOrder) -> Self {
        match order {
            ListOrder::Created => Self::Created,
            ListOrder::Active => Self::Active,
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
        let order_by = params.take_with("order_by", |word| match word {
            "created" => Ok(ListOrder::Created),
            "active" => Ok(ListOrder::Active),
            _ => Err("must be created or active"),
        })?;
        Ok(Self {
            order_by: order_by.unwrap_or(ListOrder::Created),
            lifecycle: lifecycle.unwrap_or(ListLifecycle::Active),
            scope: scope.unwrap_or(ListScope::Mine),
            workflow_name: params.take("workflow_name")?,
            user_id: params.take("user_id")?,
            member: params.take("member")?,
            team_id: params.take("team_id")?,
            assistant_id: params.take("assistant_id")?,
            title_contains: params.take_with("title_contains", |text| {
                TitlePart::parse(text).map_err(|invalid| invalid.detail)
            })?,
            status: params.take_with("status", parse_statuses)?.unwrap_or_default(),
            needs_input: params.take_with("needs_input", parse_true)?.unwrap_or_default(),
            last_turn_outcome: params.take_with("last_turn_outcome", parse_outcome)?,
            active_from: params.take("active_from")?,
            active_before: params.take("active_before")?,
            created_from: params.take("created_from")?,
            created_before: params.take("created_before")?,
            total: params.take("total")?.unwrap_or_default(),
            page: PageQuery::from_params(params, limits)?,
        })
    }

    fn described() -> Vec<Parameter> {
        [declared::<Self>(), PageQuery::<ListCursor>::described()].concat()
    }
}

fn parse_statuses(words: &str) -> Result<Vec<ChatStatus>, &'static str> {
    let named = |word| ChatStatus::ALL.into_iter().find(|status| status.as_str() == word);
    let statuses: Option<Vec<_>> = words.split(',').map(named).collect();
    statuses.ok_or("must be some of running, paused, completed, failed, separated by commas")
}

fn parse_true(word: &str) -> Result<bool, &'static str> {
    if word == "true" { Ok(true) } else { Err("must be true") }
}

fn parse_outcome(word: &str) -> Result<TurnOutcome, &'static str> {
    let named = TurnOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
    named.ok_or("must be one of completed, interrupted, failed")
}

/// Lists the chat sessions of an app, newest first by creation or by last activity.
#[operation(answers = "A page of chat sessions")]
pub(crate) async fn list_chats(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    Query(query): Query<ListChatsQuery>,
) -> Result<Json<ListChatsResponse>, Problem> {
    let filter = ChatFilter {
        of_app: query.scope == ListScope::App,
        workflow_name: query.workflow_name,
        user_id: query.user_id,
        member: query.member,
        team_id: query.team_id,
        assistant_id: query.assistant_id,
        title_contains: query.title_contains,
        statuses: query.status,
        needs_input: query.needs_input,
        last_turn_outcome: query.last_turn_outcome,
        created_from: query.created_from.map(|time| time.0),
        created_before: query.created_before.map(|time| time.0),
        active_from: query.active_from.map(|time| time.0),
        active_before: query.active_before.map(|time| time.0),
        lifecycle: query.lifecycle.into(),
        order: query.order_by.into(),
    };
    let scope = match query.lifecycle {
        ListLifecycle::Deleted => scope.needing(Permission::Manage).finding_deleted(),
        _ => scope,
    };
    let PageQuery { limit, cursor } = query.page;
    let page = store.list_chats(&scope, &filter, limit, cursor.as_ref()).await.map_err(refused)?;
    let (total, total_is_at_least) = if query.total {
        match store.count_chats(&scope, &filter).await.map_err(refused)? {
            ChatCount::Exactly(count) => (Some(count), None),
            ChatCount::AtLeast(count) => (None, Some(count)),
        }
    } else {
        (None, None)
    };
    let page = Page::new(page.chats, page.next.as_ref());
    Ok(Json(ListChatsResponse { page, total, total_is_at_least }))
}

/// A filter that is refused came in the query, not in a body.
pub(crate) fn refused(error: StoreError) -> Problem {
    match error {
        StoreError::Invalid(Invalid { location, detail, .. }) => {
            Problem::invalid_parameter(location.to_string().trim_start_matches('/'), detail)
        }
        error => error.into(),
    }
}
