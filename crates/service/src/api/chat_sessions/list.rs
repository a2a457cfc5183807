use std::collections::HashMap;
use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, Utc};
use operation::operation;
use persistence::{
    CallSummary, ChatCount, ChatFilter, ChatOrder, Direction, ListCursor, Store, StoreError,
};
use records::{
    AssistantId, ChatId, ChatSession, ChatStatus, Clock as _, Invalid, Lifecycle, MetadataFilter,
    Permission, Scope, SystemClock, TeamId, TitlePart, TurnOutcome, UserId, WorkflowName,
};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::time_groups::{GroupCount, Grouping, TimeGroup, TimeZone, counted};
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
    /// Only chats with this value in their metadata: a key that the app has declared, a colon, and the value. Before a colon or a
    /// backslash in the key stands a backslash.
    #[param(value_type = Option<String>, min_length = 2, example = "customer:acme")]
    metadata: Option<MetadataFilter>,
    /// Only chats in one of these statuses, separated by commas: `running`, `paused`, `completed`, `failed`.
    #[param(value_type = Option<values::ChatStatuses>)]
    status: Vec<ChatStatus>,
    /// `true`: only chats with a pending input request.
    #[param(value_type = Option<bool>)]
    needs_input: bool,
    /// Only chats whose last turn ended so: `completed`, `interrupted` or `failed`.
    #[param(inline, value_type = Option<values::TurnOutcome>)]
    last_turn_outcome: Option<TurnOutcome>,
    /// Only forks of this chat.
    #[param(value_type = Option<values::Name>)]
    forked_from: Option<ChatId>,
    /// Only chats created at or after this time.
    #[param(value_type = Option<Time>)]
    created_from: Option<DateTime<Utc>>,
    /// Only chats created before this time.
    #[param(value_type = Option<Time>)]
    created_before: Option<DateTime<Utc>>,
    /// Only chats last active in the minute of this time or later.
    #[param(value_type = Option<Time>)]
    active_from: Option<DateTime<Utc>>,
    /// Only chats last active before the minute of this time.
    #[param(value_type = Option<Time>)]
    active_before: Option<DateTime<Utc>>,
    /// Only chats in one of these lifecycles, separated by commas: `active` (default), `archived`, `deleted`. `all` are the
    /// active and the archived ones. With `deleted` the list has only the chats that the caller manages.
    #[param(value_type = Option<values::Lifecycles>)]
    lifecycle: Vec<Lifecycle>,
    /// `created` (default): newest first by creation. `active`: newest first by last activity, which is the last message
    /// or else the creation. Its pages may hold fewer chats. `title`: from A to Z in any case, chats without a title last.
    /// `sort`: by `sort`, smallest first. The error of a list that is not served names those that are.
    #[param(inline, value_type = Option<ListOrder>)]
    order_by: ChatOrder,
    /// `asc` or `desc`: the direction of the list, instead of that of `order_by`.
    #[param(inline, value_type = Option<ListDirection>)]
    order: Option<Direction>,
    /// `calls`: with `call_summary` of each chat that the caller manages.
    #[param(inline, value_type = Option<ListSummary>)]
    summary: Option<ListSummary>,
    /// `time`: with `time_group` of each chat, for lists by creation or activity.
    #[param(inline, value_type = Option<ListGroups>)]
    group_by: Option<ListGroups>,
    /// The time zone of `group_by`, by its IANA name; `UTC` by default.
    #[param(value_type = Option<String>, example = "Europe/Berlin")]
    tz: TimeZone,
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
    page: Page<ListedChatResponse>,
    /// How many chats of the page are in each time group, the latest group first; only with `group_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_groups: Option<Vec<GroupCount>>,
    /// The number of chats in the whole list, if it is at most 10,000.
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<usize>,
    /// 10,000, if the list has more chats.
    #[serde(skip_serializing_if = "Option::is_none")]
    total_is_at_least: Option<usize>,
}

/// A chat session in a list.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ListedChat)]
pub(crate) struct ListedChatResponse {
    #[serde(flatten)]
    chat: ChatSessionResponse,
    /// The group of its creation, or of its last activity if the list is ordered by that; only with `group_by`.
    #[serde(skip_serializing_if = "Option::is_none")]
    time_group: Option<TimeGroup>,
    /// Only with `summary`, and if the caller manages the chat.
    #[serde(skip_serializing_if = "Option::is_none")]
    call_summary: Option<CallSummaryFields>,
}

/// The calls of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = CallSummary)]
pub(crate) struct CallSummaryFields {
    /// The number of calls.
    #[schema(example = 3)]
    provider_call_count: u64,
    /// The cost of all calls, in millionths of a US dollar.
    #[schema(example = 1_200)]
    cost_micros_usd: u64,
    /// The model that answered the newest call.
    last_model: Option<String>,
    /// The provider of that model.
    last_provider: Option<String>,
    /// The id that the provider gave to the newest call.
    last_request_id: Option<String>,
}

impl From<CallSummary> for CallSummaryFields {
    fn from(summary: CallSummary) -> Self {
        let CallSummary { usage, newest, .. } = summary;
        let (used, request_id) =
            newest.map(|call| (call.used, call.request_id)).unwrap_or_default();
        Self {
            provider_call_count: usage.calls,
            cost_micros_usd: usage.cost_micros,
            last_model: used.model,
            last_provider: used.provider,
            last_request_id: request_id,
        }
    }
}

/// What a list adds to each chat.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
enum ListSummary {
    Calls,
}

/// What the chats of a list are grouped by.
#[derive(Debug, ToSchema)]
#[schema(rename_all = "snake_case")]
enum ListGroups {
    Time,
}

/// What a list is ordered by.
#[derive(Debug, Clone, Copy, PartialEq, ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the parameter")]
enum ListOrder {
    Created,
    Active,
    Title,
    Sort,
}

/// The direction of a list.
#[derive(ToSchema)]
#[schema(rename_all = "snake_case")]
#[expect(dead_code, reason = "describes the parameter")]
enum ListDirection {
    Asc,
    Desc,
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
        let lifecycle = params.take_with("lifecycle", parse_lifecycles)?;
        let order_by = params.take_with("order_by", |word| {
            let named = ChatOrder::ALL.into_iter().find(|order| order.as_str() == word);
            named.ok_or("must be created, active, title or sort")
        })?;
        let order = params.take_with("order", |word| match word {
            "asc" => Ok(Direction::Ascending),
            "desc" => Ok(Direction::Descending),
            _ => Err("must be asc or desc"),
        })?;
        let order_by = order_by.unwrap_or_default();
        let (group_by, tz) = take_groups(params, order_by)?;
        let [created_from, created_before] = params.take_span("created_from", "created_before")?;
        let [active_from, active_before] = params.take_span("active_from", "active_before")?;
        Ok(Self {
            summary: params.take_with("summary", parse_summary)?,
            group_by,
            tz,
            order_by,
            order,
            lifecycle: lifecycle.unwrap_or_else(|| vec![Lifecycle::Active]),
            scope: scope.unwrap_or(ListScope::Mine),
            workflow_name: params.take("workflow_name")?,
            user_id: params.take("user_id")?,
            member: params.take("member")?,
            team_id: params.take("team_id")?,
            assistant_id: params.take("assistant_id")?,
            title_contains: params.take_with("title_contains", |text| {
                TitlePart::parse(text).map_err(|invalid| invalid.detail)
            })?,
            metadata: params.take_with("metadata", |text| {
                MetadataFilter::parse(text).map_err(|invalid| invalid.detail)
            })?,
            status: params.take_with("status", parse_statuses)?.unwrap_or_default(),
            needs_input: params.take_with("needs_input", parse_true)?.unwrap_or_default(),
            last_turn_outcome: params.take_with("last_turn_outcome", parse_outcome)?,
            forked_from: params.take("forked_from")?,
            active_from,
            active_before,
            created_from,
            created_before,
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

fn parse_lifecycles(words: &str) -> Result<Vec<Lifecycle>, &'static str> {
    let named = |word| match word {
        "active" => Some(Lifecycle::Active),
        "archived" => Some(Lifecycle::Archived),
        "deleted" => Some(Lifecycle::Deleted),
        _ => None,
    };
    if words == "all" {
        return Ok(vec![Lifecycle::Active, Lifecycle::Archived]);
    }
    let lifecycles: Option<Vec<_>> = words.split(',').map(named).collect();
    lifecycles.ok_or("must be all, or some of active, archived, deleted, separated by commas")
}

fn parse_summary(word: &str) -> Result<ListSummary, &'static str> {
    if word == "calls" { Ok(ListSummary::Calls) } else { Err("must be calls") }
}

/// Takes `group_by` and `tz`, which needs it.
fn take_groups(
    params: &mut Params,
    order: ChatOrder,
) -> Result<(Option<ListGroups>, TimeZone), Problem> {
    let grouped = params.take_with("group_by", |word| match word {
        "time" if matches!(order, ChatOrder::Created | ChatOrder::Active) => Ok(ListGroups::Time),
        "time" => Err("needs order_by=created or order_by=active"),
        _ => Err("must be time"),
    })?;
    let zone = params.take_with("tz", |name| match &grouped {
        Some(ListGroups::Time) => {
            TimeZone::parse(name).ok_or("must be the IANA name of a time zone")
        }
        None => Err("needs group_by=time"),
    })?;
    Ok((grouped, zone.unwrap_or_default()))
}

fn parse_true(word: &str) -> Result<bool, &'static str> {
    if word == "true" { Ok(true) } else { Err("must be true") }
}

fn parse_outcome(word: &str) -> Result<TurnOutcome, &'static str> {
    let named = TurnOutcome::ALL.into_iter().find(|outcome| outcome.as_str() == word);
    named.ok_or("must be one of completed, interrupted, failed")
}

/// Lists the chat sessions of an app by creation, last activity, title or `sort`.
#[operation(answers = "A page of chat sessions", problems = [INDEXING_METADATA])]
pub(crate) async fn list_chats(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    Query(query): Query<ListChatsQuery>,
) -> Result<Json<ListChatsResponse>, Problem> {
    let scope = if query.lifecycle.contains(&Lifecycle::Deleted) {
        scope.needing(Permission::Manage).finding_deleted()
    } else {
        scope
    };
    let filter = ChatFilter {
        of_app: query.scope == ListScope::App,
        workflow_name: query.workflow_name,
        user_id: query.user_id,
        member: query.member,
        team_id: query.team_id,
        assistant_id: query.assistant_id,
        title_contains: query.title_contains,
        metadata: query.metadata,
        statuses: query.status,
        needs_input: query.needs_input,
        last_turn_outcome: query.last_turn_outcome,
        forked_from: query.forked_from,
        created_from: query.created_from,
        created_before: query.created_before,
        active_from: query.active_from,
        active_before: query.active_before,
        lifecycles: query.lifecycle,
        order: query.order_by,
        direction: query.order,
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
    let mut summaries = match query.summary {
        Some(ListSummary::Calls) => call_summaries(&*store, &scope, &page.chats).await?,
        None => HashMap::new(),
    };
    let grouping = query.group_by.map(|_| Grouping::at(SystemClock.now(), query.tz));
    let listed = |chat: ChatSession| {
        let at = match filter.order {
            ChatOrder::Active => chat.last_active_at(),
            _ => chat.created_at,
        };
        ListedChatResponse {
            time_group: grouping.as_ref().map(|grouping| grouping.group_of(at)),
            call_summary: summaries.remove(&chat.chat_id).map(Into::into),
            chat: chat.into(),
        }
    };
    let chats: Vec<_> = page.chats.into_iter().map(listed).collect();
    let groups = chats.iter().filter_map(|chat| chat.time_group);
    let time_groups = grouping.as_ref().map(|_| counted(groups));
    let page = Page::new(chats, page.next.as_ref());
    Ok(Json(ListChatsResponse { page, time_groups, total, total_is_at_least }))
}

/// Returns the summaries of the calls of those chats that the caller manages.
pub(crate) async fn call_summaries(
    store: &dyn Store,
    scope: &Scope,
    chats: &[ChatSession],
) -> Result<HashMap<ChatId, CallSummary>, StoreError> {
    let ids: Vec<_> = chats.iter().map(|chat| chat.chat_id.clone()).collect();
    let found = store.summarize_calls(&scope.needing(Permission::Manage), &ids).await?;
    Ok(found.into_iter().map(|it| (it.chat_id.clone(), it)).collect())
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
