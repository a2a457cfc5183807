use std::collections::BTreeMap;

use records::{JsonObject, ResumeState};
use resume::PendingCall;
use resume::plan::{Plan, StepToRun, Termination};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::history::{DroppedResponse, RepairedResponse};
use crate::openapi::values;
use crate::wire::{ArtifactFields, InputRequestResponse};
use crate::wire::{ChatSessionResponse, ResumePointResponse};

/// Everything that is needed to resume a chat, from one consistent snapshot.
#[derive(Debug, ToSchema)]
#[schema(as = Resume)]
#[expect(dead_code, reason = "describes what the writer writes around a transcript")]
pub(crate) struct ResumeResponse {
    chat: ChatSessionResponse,
    /// The next action: `retry` the failed step, `continue` the interrupted step, `await_input`, `start` if no
    /// step is open, or `nothing_to_do`.
    #[schema(value_type = values::Action)]
    action: &'static str,
    /// The step to run again; null if none is known.
    step: Option<StepResponse>,
    /// All unfinished steps of the last turn, in order; several if they ran at the same time.
    open_steps: Vec<ResumePointResponse>,
    /// Whether the chat must be reopened before the next write.
    must_reopen: bool,
    /// The contents of the shared space to restore before the next step runs.
    #[schema(value_type = Object, example = json!({"choose_prompt": "query"}))]
    space: JsonObject,
    /// The next speaker, if it follows from the transcript.
    #[schema(example = "visualizer")]
    next_speaker: Option<String>,
    /// The tool calls without results, in order.
    pending_calls: Vec<PendingCallResponse>,
    transcript: TranscriptResponse,
    /// The last message of the transcript, if it ends the conversation.
    termination: Option<TerminationResponse>,
    /// The chat's counter when the context snapshot was written.
    #[schema(example = 15)]
    context_sequence: u64,
    #[schema(value_type = Object)]
    context_snapshot: JsonObject,
    last_artifact: Option<ArtifactFields>,
    /// The pending input requests, oldest first.
    pending_inputs: Vec<InputRequestResponse>,
}

/// The fields of a plan before the transcript.
#[derive(Debug, Serialize)]
pub(super) struct BeforeTranscript {
    chat: ChatSessionResponse,
    action: &'static str,
    step: Option<StepResponse>,
    open_steps: Vec<ResumePointResponse>,
    must_reopen: bool,
    space: JsonObject,
    next_speaker: Option<String>,
    pending_calls: Vec<PendingCallResponse>,
}

/// The fields of a plan after the transcript that do not depend on it.
#[derive(Debug, Serialize)]
pub(super) struct AfterTranscript {
    context_sequence: u64,
    context_snapshot: JsonObject,
    last_artifact: Option<ArtifactFields>,
    pending_inputs: Vec<InputRequestResponse>,
}

/// The messages in a dialect, with what was dropped or repaired.
#[derive(Debug, ToSchema)]
#[schema(as = Transcript)]
#[expect(dead_code, reason = "describes what the writer writes")]
pub(crate) struct TranscriptResponse {
    #[schema(value_type = values::Dialect)]
    dialect: &'static str,
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    dropped: Vec<DroppedResponse>,
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was replaced.
    names: BTreeMap<String, String>,
    /// The original of each call id that was replaced.
    ids: BTreeMap<String, String>,
    /// The system instructions, for dialects that keep them apart from the messages.
    #[schema(value_type = Vec<Object>)]
    system: Vec<Value>,
}

/// A step to run again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StepToRun)]
pub(crate) struct StepResponse {
    #[serde(flatten)]
    point: ResumePointResponse,
    /// The call stack of the step, outermost call first; null if it is incomplete.
    #[schema(example = json!(["stk_001", "stk_002"]))]
    stack_path: Option<Vec<String>>,
    /// Why the call stack is incomplete.
    stack_error: Option<String>,
}

/// A tool call without a result.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PendingCall)]
pub(crate) struct PendingCallResponse {
    /// The sequence of the message with the call.
    sequence: u64,
    /// The speaker of that message.
    #[schema(example = "analyzer")]
    speaker: Option<String>,
    /// Null for calls in the older `function_call` format, which have no id.
    #[schema(example = "call_1")]
    call_id: Option<String>,
    #[schema(example = "search")]
    name: String,
    /// The arguments as stored, mostly the text of a JSON object.
    arguments: Value,
}

/// A message that ends a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Termination)]
pub(crate) struct TerminationResponse {
    sequence: u64,
    /// The text that ends the conversation.
    #[schema(example = "TERMINATE")]
    text: String,
}

/// Returns the fields of a plan, except the transcript and what depends on it.
pub(super) fn fields(state: ResumeState, plan: Plan) -> (BeforeTranscript, AfterTranscript) {
    let before = BeforeTranscript {
        chat: state.chat.into(),
        action: plan.action.as_str(),
        step: plan.step.map(Into::into),
        open_steps: state.resume_points.into_iter().map(Into::into).collect(),
        must_reopen: plan.must_reopen,
        space: plan.space,
        next_speaker: plan.next_speaker,
        pending_calls: plan.pending_calls.into_iter().map(Into::into).collect(),
    };
    let after = AfterTranscript {
        context_sequence: state.context.sequence,
        context_snapshot: state.context.data,
        last_artifact: state.artifact.map(Into::into),
        pending_inputs: state.pending_inputs.into_iter().map(Into::into).collect(),
    };
    (before, after)
}

impl From<StepToRun> for StepResponse {
    fn from(step: StepToRun) -> Self {
        let (stack_path, stack_error) = match step.stack_path {
            Ok(path) => (Some(path.into_iter().map(Into::into).collect()), None),
            Err(error) => (None, Some(error.to_string())),
        };
        Self { point: step.point.into(), stack_path, stack_error }
    }
}

impl From<PendingCall> for PendingCallResponse {
    fn from(call: PendingCall) -> Self {
        let PendingCall { sequence, speaker, call_id, name, arguments } = call;
        Self { sequence, speaker, call_id, name, arguments }
    }
}

impl From<Termination> for TerminationResponse {
    fn from(termination: Termination) -> Self {
        let Termination { sequence, text } = termination;
        Self { sequence, text }
    }
}
