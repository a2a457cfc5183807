use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::Store;
use serde::Serialize;
use utoipa::ToSchema;

use crate::api::stats::series::{SeriesQuery, Step, UsagePoint};
use crate::extract::{Json, Query, UserStatsScope};
use crate::problem::Problem;
use crate::wire::Time;

/// The usage of the chats that a user owns over time.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserSeriesResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "user_alice")]
    user_id: String,
    /// The start of the first step.
    from: Time,
    /// The end of the last step.
    to: Time,
    step: Step,
    /// One point for each step, also if nothing happened in it.
    points: Vec<UsagePoint>,
}

/// Returns the usage of the chats that a user owns by hour or by day, with zeros where nothing happened.
#[operation(answers = "The series")]
pub(crate) async fn get_user_series(
    State(store): State<Arc<dyn Store>>,
    UserStatsScope { app_id, user_id }: UserStatsScope,
    Query(query): Query<SeriesQuery>,
) -> Result<Json<UserSeriesResponse>, Problem> {
    let hours = store.hourly_user_stats(&app_id, &user_id, query.range()).await?;
    Ok(Json(UserSeriesResponse {
        app_id: app_id.into(),
        user_id: user_id.into(),
        from: query.from.into(),
        to: query.end().into(),
        step: query.step,
        points: query.points(hours, |at, rollup| UsagePoint::new(at, rollup.usage())),
    }))
}
