use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{Store, UserStats};
use records::{AppId, Usage, UserId, WorkflowName};
use serde::Serialize;
use utoipa::ToSchema;

use crate::extract::{Json, Query, UserStatsScope};
use crate::problem::Problem;
use crate::wire::UsageFields;

/// The usage of the chats that a user owns.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct UserStatsResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "user_alice")]
    user_id: String,
    usage: UsageFields,
    /// The workflows with calls, ordered by name.
    workflows: Vec<UserWorkflow>,
}

/// The usage of the chats of a workflow that a user owns.
#[derive(Debug, Serialize, ToSchema)]
struct UserWorkflow {
    #[schema(example = "Generator")]
    workflow_name: String,
    usage: UsageFields,
}

impl UserStatsResponse {
    pub(crate) fn new(app_id: AppId, user_id: UserId, stats: UserStats) -> Self {
        let workflow = |(workflow_name, usage): (WorkflowName, Usage)| UserWorkflow {
            workflow_name: workflow_name.into(),
            usage: usage.into(),
        };
        Self {
            app_id: app_id.into(),
            user_id: user_id.into(),
            usage: stats.total.into(),
            workflows: stats.workflows.into_iter().map(workflow).collect(),
        }
    }
}

/// Returns the usage of the chats that a user owns, in total and for each workflow.
#[operation(answers = "The usage")]
pub(crate) async fn get_user_stats(
    State(store): State<Arc<dyn Store>>,
    UserStatsScope { app_id, user_id }: UserStatsScope,
    Query(()): Query<()>,
) -> Result<Json<UserStatsResponse>, Problem> {
    let stats = store.user_stats(&app_id, &user_id).await?;
    Ok(Json(UserStatsResponse::new(app_id, user_id, stats)))
}
