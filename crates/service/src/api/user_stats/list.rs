use std::ops::Range;
use std::sync::Arc;

use axum::extract::State;
use chrono::{DateTime, TimeDelta, Utc};
use operation::operation;
use persistence::{Store, UserOrder, UserStatsCursor, UserStatsFilter, UserStatsPage, UserUsage};
use records::{Clock as _, SystemClock, hour_of};
use serde::{Deserialize, Serialize};
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use crate::api::pages::{Cursor as _, PageQuery};
use crate::config::LimitsConfig;
use crate::extract::{AppStatsScope, FromParams, Json, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::{Time, UsageFields};

/// The number by which users are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
enum UserListOrder {
    /// The cost of their calls.
    Cost,
    /// The tokens of their calls.
    Tokens,
    /// The number of their calls.
    Calls,
}

/// The users to list, and the calls that are counted.
#[derive(Debug, IntoParams)]
pub(crate) struct UserListQuery {
    /// `cost` (default), `tokens` or `calls`: the users with the most come first.
    #[param(inline, value_type = Option<UserListOrder>)]
    order_by: UserOrder,
    /// Counts only the calls from the hour on that contains this moment.
    #[param(value_type = Option<Time>)]
    from: Option<DateTime<Utc>>,
    /// Counts only the calls up to the end of the hour that contains this moment.
    #[param(value_type = Option<Time>)]
    to: Option<DateTime<Utc>>,
    #[param(ignore)]
    page: PageQuery<UserStatsCursor>,
}

impl FromParams for UserListQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let order_by = params.take_with("order_by", |word| match word {
            "cost" => Ok(UserOrder::Cost),
            "tokens" => Ok(UserOrder::Tokens),
            "calls" => Ok(UserOrder::Calls),
            _ => Err("must be cost, tokens or calls"),
        })?;
        let from = params.take::<Time>("from")?.map(|time| time.0);
        let to = params.take::<Time>("to")?.map(|time| time.0);
        if from.zip(to).is_some_and(|(from, to)| from > to) {
            return Err(Problem::invalid_parameter("from", "must not be after `to`"));
        }
        let page = PageQuery::from_params(params, limits)?;
        Ok(Self { order_by: order_by.unwrap_or_default(), from, to, page })
    }

    fn described() -> Vec<Parameter> {
        let mut parameters = declared::<Self>();
        parameters.extend(declared::<PageQuery<UserStatsCursor>>());
        parameters
    }
}

impl UserListQuery {
    fn filter(&self) -> UserStatsFilter {
        UserStatsFilter { range: hours(self.from, self.to), order: self.order_by }
    }
}

/// Returns the hours from one moment to another; `None` for all hours.
pub fn hours(
    from: Option<DateTime<Utc>>,
    to: Option<DateTime<Utc>>,
) -> Option<Range<DateTime<Utc>>> {
    if from.is_none() && to.is_none() {
        return None;
    }
    let from = from.map_or(DateTime::<Utc>::UNIX_EPOCH, hour_of);
    Some(from..hour_of(to.unwrap_or_else(|| SystemClock.now())) + TimeDelta::hours(1))
}

/// A page of users.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ListUserStatsResponse {
    users: Vec<UserUsageFields>,
    /// The cursor of the next page; null on the last page.
    next_cursor: Option<String>,
}

/// The usage of the chats that a user owns.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = UserUsage)]
struct UserUsageFields {
    /// The user; after an erasure, the pseudonym.
    #[schema(example = "user_alice")]
    user_id: String,
    usage: UsageFields,
}

impl From<UserUsage> for UserUsageFields {
    fn from(UserUsage { user_id, usage }: UserUsage) -> Self {
        Self { user_id: user_id.into(), usage: usage.into() }
    }
}

impl From<UserStatsPage> for ListUserStatsResponse {
    fn from(page: UserStatsPage) -> Self {
        let next_cursor = page.next.map(|next| next.encode());
        Self { users: page.users.into_iter().map(Into::into).collect(), next_cursor }
    }
}

/// Lists the users of an app by the cost, the tokens or the number of the calls of the chats that they own.
#[operation(answers = "A page of users")]
pub(crate) async fn list_user_stats(
    State(store): State<Arc<dyn Store>>,
    AppStatsScope(app_id): AppStatsScope,
    Query(query): Query<UserListQuery>,
) -> Result<Json<ListUserStatsResponse>, Problem> {
    let PageQuery { limit, cursor } = &query.page;
    let page = store.list_user_stats(&app_id, &query.filter(), *limit, cursor.as_ref()).await?;
    Ok(Json(page.into()))
}
