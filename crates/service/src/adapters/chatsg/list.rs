use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use records::{ChatSession, Permission};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::status::{Activity, SessionStatus};
use super::wire::ListedSession;
use crate::adapters::ForeignQuery;
use crate::adapters::offset_pages::{MAX_EXAMINED, OffsetPage};
use crate::config::{AdaptersConfig, LimitsConfig};
use crate::extract::needs::Read;
use crate::extract::{AppScope, FromParams, Json, Params, declared};
use crate::problem::Problem;

/// The sessions to list.
#[derive(Debug, IntoParams)]
#[expect(dead_code, reason = "describes the parameters")]
struct SessionParameters {
    /// Statuses, separated by commas: `active`, `inactive`, `archived`, `deleted`; the first two by default. With `deleted`
    /// the list has only the sessions that the caller manages.
    status: Option<String>,
    /// The most sessions, 1 to 1,000; 1,000 by default.
    limit: Option<usize>,
    /// The number of sessions to leave out, at most 9,999.
    offset: Option<usize>,
}

/// The part of the list of sessions to return.
#[derive(Debug)]
pub(crate) struct ListSessionsQuery {
    statuses: Vec<SessionStatus>,
    limit: usize,
    offset: usize,
}

impl ListSessionsQuery {
    const MAX: usize = 1_000;
}

impl FromParams for ListSessionsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        let both = || vec![SessionStatus::Active, SessionStatus::Inactive];
        Ok(Self {
            statuses: params.take_with("status", SessionStatus::parse_list)?.unwrap_or_else(both),
            limit: params.take_in("limit", 1..=Self::MAX)?.unwrap_or(Self::MAX),
            offset: params.take_in("offset", 0..=MAX_EXAMINED - 1)?.unwrap_or_default(),
        })
    }

    fn described() -> Vec<Parameter> {
        declared::<SessionParameters>()
    }
}

/// A part of the list of sessions.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Sessions)]
pub(crate) struct ListSessionsResponse {
    chats: Vec<ListedSession>,
    /// The number of sessions in the whole list.
    #[serde(rename = "totalChats")]
    #[schema(example = 3)]
    total_chats: usize,
    /// Whether there may be more sessions than `totalChats`: the request examined as many as one may. Missing if not.
    #[serde(rename = "totalIsAtLeast", skip_serializing_if = "std::ops::Not::not")]
    total_is_at_least: bool,
}

/// Lists sessions, the one in which something was said last first.
#[operation(answers = "The sessions")]
pub(crate) async fn list_sessions(
    State(store): State<Arc<dyn Store>>,
    State(adapters): State<Arc<AdaptersConfig>>,
    AppScope(scope, _): AppScope<Read>,
    ForeignQuery(query): ForeignQuery<ListSessionsQuery>,
) -> Result<Json<ListSessionsResponse>, Problem> {
    let ListSessionsQuery { statuses, limit, offset } = query;
    let scope = if statuses.contains(&SessionStatus::Deleted) {
        scope.needing(Permission::Manage).finding_deleted()
    } else {
        scope
    };
    let activity = Activity::now(&adapters.chatsg);
    let admits = |chat: &ChatSession| statuses.contains(&activity.status_of(chat));
    let others = (!Activity::is_exact(&statuses)).then_some(&admits as _);
    let list = activity.list_of(&statuses);
    let show = |chat| ListedSession::new(chat, activity);
    let positions = offset..offset + limit;
    let found = OffsetPage::find(&*store, &scope, &list, others, positions, show).await?;
    Ok(Json(ListSessionsResponse {
        chats: found.chats,
        total_chats: found.total,
        total_is_at_least: found.is_at_least,
    }))
}
