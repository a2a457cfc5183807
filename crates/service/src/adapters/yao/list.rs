use std::convert::identity;
use std::sync::Arc;

use axum::extract::State;
use chrono_tz::Tz;
use operation::operation;
use persistence::Store;
use records::{ChatSession, Clock as _, SystemClock};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::filter::SessionFilter;
use super::groups::{SessionGroup, grouped};
use super::page::NumberedPage;
use super::wire::SessionItem;
use crate::adapters::ForeignQuery;
use crate::adapters::offset_pages::{MAX_EXAMINED, OffsetPage};
use crate::config::LimitsConfig;
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, declared};
use crate::problem::Problem;
use crate::wire::Time;

/// The sessions to list. Values that are no numbers, times or time zones are ignored.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct SessionParameters {
    /// The page, 1 by default. Sessions after the first 10,000 are not served.
    page: Option<usize>,
    /// The most sessions of a page, 1 to 100; 20 for any other value.
    pagesize: Option<usize>,
    /// Only sessions with this assistant.
    assistant_id: Option<String>,
    /// `active` or `archived`; both by default.
    status: Option<String>,
    /// Only sessions whose title has these characters in a row, in any case.
    keywords: Option<String>,
    /// Only sessions whose id begins so.
    chat_id_prefix: Option<String>,
    /// Only sessions at or after this time.
    start_time: Option<Time>,
    /// Only sessions at or before this time.
    end_time: Option<Time>,
    /// The time of that range: `last_message_at` (default) or `created_at`.
    time_field: Option<String>,
    /// `last_message_at` (default; the creation of a session without messages), `created_at`, `title` or `sort`.
    order_by: Option<String>,
    /// `asc` or `desc` (default).
    order: Option<String>,
    /// `time`: in groups, by when something was last said.
    group_by: Option<String>,
    /// The time zone of the groups, by its IANA name; `UTC` by default.
    tz: Option<String>,
}

/// The page of the list of sessions to return.
#[derive(Debug)]
pub(crate) struct ListSessionsQuery {
    page: NumberedPage,
    filter: SessionFilter,
    groups: Option<Tz>,
}

impl FromParams for ListSessionsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let page = NumberedPage::from_params(params, MAX_EXAMINED, "sessions")?;
        let is_grouped = params.take_with("group_by", |word| Ok::<_, String>(word == "time"))?;
        let zone = params.take_with("tz", |name| Ok::<_, String>(name.parse::<Tz>().ok()))?;
        Ok(Self {
            page,
            groups: is_grouped.unwrap_or_default().then(|| zone.flatten().unwrap_or(Tz::UTC)),
            filter: SessionFilter::from_params(params)?,
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<SessionParameters>()
    }
}

/// A page of sessions: `data`, or `groups` if they are grouped and there are any.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessions)]
pub(crate) struct ListSessionsResponse {
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Vec<SessionItem>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    groups: Option<Vec<SessionGroup>>,
    #[schema(example = 1)]
    page: usize,
    #[schema(example = 20)]
    pagesize: usize,
    /// At least 1.
    #[schema(example = 1)]
    pagecount: usize,
    #[schema(example = 3)]
    total: usize,
    /// Whether there may be more sessions than `total`: the request examined as many as one may. Missing if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    total_is_at_least: bool,
}

/// Lists sessions: those of the caller, those that they are a member of, and those that their team shares.
///
/// With a filter, the first 10,000 sessions of the order are examined.
#[operation(answers = "A page of sessions")]
pub(crate) async fn list_sessions(
    State(store): State<Arc<dyn Store>>,
    AppScope(scope, _): AppScope<Read>,
    ForeignQuery(query): ForeignQuery<ListSessionsQuery>,
) -> Result<Json<ListSessionsResponse>, Problem> {
    let ListSessionsQuery { page, filter, groups } = query;
    let admits = |chat: &ChatSession| filter.admits(chat);
    let admits = (!filter.is_whole_list()).then_some(&admits as _);
    let (list, positions) = (filter.of_store(), page.positions());
    let found = OffsetPage::find(&*store, &scope, &list, admits, positions, identity).await?;
    let (data, groups) = match groups.filter(|_| !found.chats.is_empty()) {
        Some(zone) => (None, Some(grouped(found.chats, SystemClock.now(), zone))),
        None => (Some(found.chats.into_iter().map(Into::into).collect()), None),
    };
    Ok(Json(ListSessionsResponse {
        data,
        groups,
        page: page.page,
        pagesize: page.pagesize,
        pagecount: page.count(found.total),
        total: found.total,
        total_is_at_least: found.is_at_least,
    }))
}
