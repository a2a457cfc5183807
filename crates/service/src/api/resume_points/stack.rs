use std::collections::HashSet;
use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ResumePointFilter, Store, StoreError};
use records::{ChatId, NewTurn, ResumePoint, Scope, StackId};
use resume::call_stack::Calls;
use serde::Serialize;
use utoipa::ToSchema;

use crate::admission::Reserve;
use crate::extract::needs::Read;
use crate::extract::{ChatScope, Json, Path, Query};
use crate::problem::Problem;
use crate::wire::ResumePointResponse;

/// The call stack of a call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Stack)]
pub(crate) struct StackResponse {
    #[schema(example = "chat_abc123def456")]
    chat_id: String,
    #[schema(example = "stk_002")]
    stack_id: String,
    /// The ids of the calls, outermost first.
    #[schema(example = json!(["stk_001", "stk_002"]))]
    stack_path: Vec<String>,
    /// The resume points of these calls, in order of their steps.
    resume_points: Vec<ResumePointResponse>,
}

/// Returns the call stack of a call, outermost call first, with the resume points of its calls.
#[operation(answers = "The call stack", problems = [STACK_NOT_FOUND, BROKEN_CALL_STACK])]
pub(crate) async fn get_stack(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(stack_id): Path<StackId>,
    Query(()): Query<()>,
    _: Reserve<16>,
) -> Result<Json<StackResponse>, Problem> {
    let (mut points, calls) = resume_points_of(&*store, &scope, &chat_id, &stack_id).await?;
    let path = calls.path(&stack_id)?;
    let on_path: HashSet<_> = path.iter().collect();
    points.retain(|point| on_path.contains(&point.step.frame.stack_id));
    Ok(Json(StackResponse {
        chat_id: chat_id.into(),
        stack_id: stack_id.into(),
        stack_path: path.into_iter().map(Into::into).collect(),
        resume_points: points.into_iter().map(Into::into).collect(),
    }))
}

/// Returns the resume points of the latest turn that has one in a call, without their paths, and the calls
/// that they tell of.
///
/// If no turn has one, the latest turn of the chat is taken: its resume points may be in calls that the given
/// call has made.
pub(crate) async fn resume_points_of(
    store: &dyn Store,
    scope: &Scope,
    chat_id: &ChatId,
    stack_id: &StackId,
) -> Result<(Vec<ResumePoint>, Calls), StoreError> {
    let of_stack = ResumePointFilter { stack_id: Some(stack_id.clone()), request_id: None };
    let mut latest =
        store.list_resume_points(scope, chat_id, &of_stack, 1, None).await?.points.pop();
    if latest.is_none() {
        latest = store.last_resume_point(scope, chat_id).await?;
    }
    let Some(latest) = latest else { return Ok(Default::default()) };
    let of_turn = ResumePointFilter { request_id: Some(latest.request_id), stack_id: None };
    let (mut points, mut calls, mut cursor) = (Vec::new(), Calls::default(), None);
    loop {
        let page = store.list_resume_points(scope, chat_id, &of_turn, NewTurn::MAX_STEPS, cursor);
        let page = page.await?;
        for mut point in page.points {
            calls.add(&point);
            point.stack_path = Vec::new();
            points.push(point);
        }
        match page.next {
            Some(next) => cursor = Some(next),
            None => break,
        }
    }
    points.reverse();
    Ok((points, calls))
}
