use std::sync::Arc;

use axum::extract::State;
use persistence::{ResumePointFilter, Store};
use resume::call_stack;
use serde::Serialize;
use utoipa::ToSchema;

use super::ResumePointResponse;
use crate::extract::{InChat, Json, Query, StackName};
use crate::openapi::{ChatPath, StackPath};
use crate::problem::{Problem, StackProblems};

/// The calls that lead to one.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stack)]
pub(crate) struct StackResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "stk_002")]
    stack_id: String,
    /// From the outermost call to this one.
    #[schema(example = json!(["stk_001", "stk_002"]))]
    stack_path: Vec<String>,
    /// The resume points of these calls, by turn and then by sequence.
    resume_points: Vec<ResumePointResponse>,
}

/// Returns the calls from the outermost one to the one named, with their resume points.
#[utoipa::path(
    get, path = "/api/chats/{app_id}/{chat_id}/stacks/{stack_id}", tag = "turns",
    operation_id = "get_stack", params(ChatPath, StackPath),
    responses((status = 200, description = "The calls", body = StackResponse), StackProblems),
)]
pub(crate) async fn get_stack(
    State(store): State<Arc<dyn Store>>,
    InChat { scope, chat_id }: InChat,
    StackName(stack_id): StackName,
    Query(()): Query<()>,
) -> Result<Json<StackResponse>, Problem> {
    let everything = ResumePointFilter::default();
    let mut points = store.list_resume_points(&scope, &chat_id, &everything).await?;
    let path = call_stack::path(&call_stack::frames(&points), &stack_id)?;
    points.retain(|point| path.contains(&point.step.frame.stack_id));
    Ok(Json(StackResponse {
        chat_id: chat_id.into(),
        stack_id: stack_id.into(),
        stack_path: path.into_iter().map(Into::into).collect(),
        resume_points: points.into_iter().map(Into::into).collect(),
    }))
}
