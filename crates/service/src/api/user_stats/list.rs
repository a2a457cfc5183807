use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, UserStatsCursor, UserStatsPage, UserUsage};
use records::Subject;
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::path::Parameter;

use crate::api::pages::{Cursor as _, PageQuery};
use crate::api::stats::series::UsagePoint;
use crate::api::stats::shares::UsageQuery;
use crate::config::LimitsConfig;
use crate::extract::{AppStatsScope, FromParams, Json, Params, Query, declared};
use crate::problem::Problem;
use crate::wire::UsageFields;

/// The users to list, and the calls that are counted.
#[derive(Debug)]
pub(crate) struct UserListQuery {
    usage: UsageQuery,
    page: PageQuery<UserStatsCursor>,
}

impl FromParams for UserListQuery {
    fn from_params(params: &mut Params, limits: &LimitsConfig) -> Result<Self, Problem> {
        let usage = UsageQuery::from_params(params, limits)?;
        let page = PageQuery::from_params(params, limits)?;
        usage.check(page.limit)?;
        Ok(Self { usage, page })
    }

    fn described() -> Vec<Parameter> {
        let mut parameters = declared::<UsageQuery>();
        parameters.extend(declared::<PageQuery<UserStatsCursor>>());
        parameters
    }
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
    /// The usage by the asked step.
    #[serde(skip_serializing_if = "Option::is_none")]
    points: Option<Vec<UsagePoint>>,
}

impl From<UserUsage> for UserUsageFields {
    fn from(UserUsage { user_id, usage }: UserUsage) -> Self {
        Self { user_id: user_id.into(), usage: usage.into(), points: None }
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
    let UserListQuery { usage, page: PageQuery { limit, cursor } } = &query;
    let page = store.list_user_stats(&app_id, &usage.filter(), *limit, cursor.as_ref()).await?;
    let users = page.users.iter().map(|user| Subject::User(user.user_id.clone())).collect();
    let points = usage.points(&store, &app_id, users).await?;
    let mut response = ListUserStatsResponse::from(page);
    for (user, points) in response.users.iter_mut().zip(points) {
        user.points = points;
    }
    Ok(Json(response))
}
