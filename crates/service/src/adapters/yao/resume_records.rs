//! Resume records: the steps from which a request can go on.

use std::sync::Arc;

use axum::extract::State;
use operation::operation;
use persistence::{ResumePointFilter, Store};
use records::{NewTurn, ResumePoint, StackId};
use serde::Serialize;
use utoipa::openapi::path::Parameter;
use utoipa::{IntoParams, ToSchema};

use super::wire::ChangedResponse;
use crate::adapters::ForeignQuery;
use crate::admission::Reserve;
use crate::api::resume_points::stack::resume_points_of;
use crate::config::LimitsConfig;
use crate::extract::conditions::Fenced;
use crate::extract::needs::{Read, Run};
use crate::extract::{ChatScope, FromParams, Json, Params, Path, declared};
use crate::openapi::values;
use crate::problem::Problem;
use crate::wire::{ResumePointResponse, Time};

/// A step from which its request can go on.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResumeRecord)]
pub(crate) struct ResumeRecord {
    /// Made of the request and the number of the step.
    #[schema(example = "req_abc:5")]
    resume_id: String,
    #[schema(example = "chat_123")]
    chat_id: String,
    updated_at: Time,
    #[serde(flatten)]
    point: ResumePointResponse,
}

impl From<ResumePoint> for ResumeRecord {
    fn from(point: ResumePoint) -> Self {
        Self {
            resume_id: format!("{}:{}", point.request_id, point.sequence),
            chat_id: point.chat_id.as_str().to_owned(),
            updated_at: point.created_at.into(),
            point: point.into(),
        }
    }
}

/// Which records to return.
#[derive(Debug, IntoParams)]
pub(crate) struct ResumeRecordsQuery {
    /// Only records of this call in a call stack.
    #[param(value_type = Option<values::Name>)]
    stack_id: Option<StackId>,
}

impl FromParams for ResumeRecordsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { stack_id: params.take("stack_id")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Resume records, the oldest first.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResumeRecords)]
pub(crate) struct ResumeRecordsResponse {
    #[schema(example = "chat_123")]
    chat_id: String,
    resume: Vec<ResumeRecord>,
    /// Whether there are older records, which are not in the answer. Missing if not.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// Returns the resume records of a session, the newest 1,000, oldest first.
#[operation(answers = "The records")]
pub(crate) async fn list_resume_records(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(query): ForeignQuery<ResumeRecordsQuery>,
    _: Reserve<16>,
) -> Result<Json<ResumeRecordsResponse>, Problem> {
    let filter = ResumePointFilter { stack_id: query.stack_id, request_id: None };
    let page =
        store.list_resume_points(&scope, &chat_id, &filter, NewTurn::MAX_STEPS, None).await?;
    Ok(Json(ResumeRecordsResponse {
        chat_id: chat_id.into(),
        resume: page.points.into_iter().rev().map(Into::into).collect(),
        truncated: page.next.is_some(),
    }))
}

/// The newest resume record.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = LastResumeRecord)]
pub(crate) struct LastResumeRecordResponse {
    #[schema(example = "chat_123")]
    chat_id: String,
    /// Null if every request was completed, or resumed.
    resume: Option<ResumeRecord>,
}

/// Returns the newest resume record of a session: the last open step of the last request that has one.
#[operation(answers = "The record")]
pub(crate) async fn get_last_resume_record(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<16>,
) -> Result<Json<LastResumeRecordResponse>, Problem> {
    let resume = store.last_resume_point(&scope, &chat_id).await?.map(Into::into);
    Ok(Json(LastResumeRecordResponse { chat_id: chat_id.into(), resume }))
}

/// Deletes the resume records of a session, after it was resumed.
#[operation(answers = "The session has no resume records")]
pub(crate) async fn delete_resume_records(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Run, Fenced>,
    ForeignQuery(()): ForeignQuery<()>,
) -> Result<Json<ChangedResponse>, Problem> {
    store.delete_resume_points(&scope, &chat_id, None).await?;
    Ok(Json(ChangedResponse::resumed(chat_id.into())))
}

/// The path of a call.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StackPath)]
pub(crate) struct StackPathResponse {
    #[schema(example = "stk_002")]
    stack_id: String,
    /// The ids of the calls, the outermost first.
    #[schema(example = json!(["stk_001", "stk_002"]))]
    path: Vec<String>,
}

/// Returns the path of a call in the call stack. A circle of calls is an error.
#[operation(answers = "The path", problems = [STACK_NOT_FOUND, BROKEN_CALL_STACK])]
pub(crate) async fn get_stack_path(
    State(store): State<Arc<dyn Store>>,
    ChatScope { scope, chat_id, .. }: ChatScope<Read>,
    Path(stack_id): Path<StackId>,
    ForeignQuery(()): ForeignQuery<()>,
    _: Reserve<16>,
) -> Result<Json<StackPathResponse>, Problem> {
    let (_, calls) = resume_points_of(&*store, &scope, &chat_id, &stack_id).await?;
    let path = calls.path(&stack_id)?;
    let path = path.into_iter().map(Into::into).collect();
    Ok(Json(StackPathResponse { stack_id: stack_id.into(), path }))
}
