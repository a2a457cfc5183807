use records::{JsonObject, ResumePoint};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use super::values;

/// An unfinished step, from which a turn can be resumed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ResumePoint)]
pub(crate) struct ResumePointResponse {
    /// The id of its turn.
    #[schema(example = "req_abc")]
    request_id: String,
    /// The number of the turn in the chat, from 1.
    #[schema(example = 1)]
    turn: u64,
    /// The number of the step in its turn, from 1.
    #[schema(example = 5)]
    sequence: u32,
    /// `input`, `hook_create`, `llm`, `tool`, `hook_next` or `delegate`.
    #[serde(rename = "type")]
    #[schema(value_type = values::StepType)]
    kind: &'static str,
    /// `interrupted` or `failed`.
    #[schema(value_type = values::StepStatus)]
    status: &'static str,
    #[schema(example = "visualizer")]
    assistant_id: Option<String>,
    #[schema(example = "stk_002")]
    stack_id: String,
    #[schema(example = "stk_001")]
    stack_parent_id: Option<String>,
    #[schema(example = 1)]
    stack_depth: u32,
    /// The input of the step.
    #[schema(value_type = Option<Object>)]
    input: Option<JsonObject>,
    /// The output of the step so far.
    #[schema(value_type = Option<Object>)]
    output: Option<JsonObject>,
    /// The shared space at the start of the step.
    #[schema(value_type = Object)]
    space_snapshot: JsonObject,
    error: Option<String>,
    #[schema(value_type = Object)]
    metadata: JsonObject,
    created_at: Time,
}

impl From<ResumePoint> for ResumePointResponse {
    fn from(point: ResumePoint) -> Self {
        let ResumePoint { request_id, turn, sequence, step, created_at, .. } = point;
        Self {
            request_id: request_id.into(),
            turn,
            sequence,
            kind: step.kind.as_str(),
            status: step.status.as_str(),
            assistant_id: step.assistant_id,
            stack_id: step.frame.stack_id.into(),
            stack_parent_id: step.frame.parent_id.map(Into::into),
            stack_depth: step.frame.depth,
            input: step.input,
            output: step.output,
            space_snapshot: step.space_snapshot,
            error: step.error,
            metadata: step.metadata,
            created_at: created_at.into(),
        }
    }
}
