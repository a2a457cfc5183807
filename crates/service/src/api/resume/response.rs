use std::collections::BTreeMap;

use records::{JsonObject, ResumeState};
use resume::PendingCall;
use resume::dialect::Rendered;
use resume::plan::{Plan, StepToRun, Termination};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::api::chat_sessions::ChatSessionResponse;
use crate::api::resume_points::ResumePointResponse;
use crate::history::{DroppedResponse, RepairedResponse};
use crate::wire::{ArtifactFields, InputRequestResponse};

/// All that is needed to go on with a chat, as it was at one moment.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Resume)]
pub(crate) struct ResumeResponse {
    chat: ChatSessionResponse,
    /// What is to be done: `retry` the step, which has failed; `continue` where it broke off; `await_input`;
    /// `start`, when nothing broke off; `nothing_to_do`.
    #[schema(example = "continue")]
    action: &'static str,
    /// The step to run again; null where none is known.
    step: Option<StepResponse>,
    /// All steps of the turn written last that were not done, in order: those that ran at the same time are
    /// all here.
    open_steps: Vec<ResumePointResponse>,
    /// Whether the chat has to be reopened before anything is written to it.
    must_reopen: bool,
    /// What the shared space is to hold before anything runs.
    #[schema(value_type = Object, example = json!({"choose_prompt": "query"}))]
    space: JsonObject,
    /// Who is to speak next, where that follows from what there is.
    #[schema(example = "visualizer")]
    next_speaker: Option<String>,
    /// The calls of tools that no message answers, in order.
    pending_calls: Vec<PendingCallResponse>,
    /// The last message of the transcript, if it would end a replay at once.
    termination: Option<TerminationResponse>,
    transcript: TranscriptResponse,
    /// The chat's counter when the snapshot was taken.
    #[schema(example = 15)]
    context_sequence: u64,
    #[schema(value_type = Object)]
    context_snapshot: JsonObject,
    last_artifact: Option<ArtifactFields>,
    /// The questions that the chat waits on, oldest first.
    pending_inputs: Vec<InputRequestResponse>,
}

/// The messages in a form, with what was left out or changed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Transcript)]
pub(crate) struct TranscriptResponse {
    #[schema(example = "ag2")]
    dialect: &'static str,
    #[schema(value_type = Vec<Object>)]
    messages: Vec<Value>,
    dropped: Vec<DroppedResponse>,
    repaired: Vec<RepairedResponse>,
    /// The original of each name that was changed.
    names: BTreeMap<String, String>,
    /// The original of each call id that was changed.
    ids: BTreeMap<String, String>,
    /// The instructions, in blocks of the form, where it wants them apart.
    #[schema(value_type = Vec<Object>)]
    system: Vec<Value>,
}

/// A step to run again.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = StepToRun)]
pub(crate) struct StepResponse {
    #[serde(flatten)]
    point: ResumePointResponse,
    /// The calls from the outermost one to that of the step; null where that is not known.
    #[schema(example = json!(["stk_001", "stk_002"]))]
    stack_path: Option<Vec<String>>,
    /// Why it is not known.
    stack_error: Option<String>,
}

/// A call of a tool that no message answers.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = PendingCall)]
pub(crate) struct PendingCallResponse {
    /// The position in the chat of the message that makes it.
    sequence: u64,
    /// Who makes it.
    #[schema(example = "analyzer")]
    speaker: Option<String>,
    /// Null for the older calls, which have only the name of a function.
    #[schema(example = "call_1")]
    call_id: Option<String>,
    #[schema(example = "search")]
    name: String,
    /// As they are in the log: mostly the text of a JSON object.
    arguments: Value,
}

/// A message that ends a conversation.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Termination)]
pub(crate) struct TerminationResponse {
    sequence: u64,
    /// What it says to end it.
    #[schema(example = "TERMINATE")]
    text: String,
}

impl ResumeResponse {
    /// `rendered` are the messages of the state.
    pub(super) fn new(
        state: ResumeState,
        plan: Plan,
        termination: Option<Termination>,
        dialect: &'static str,
        rendered: Rendered,
    ) -> Self {
        let Rendered { messages, dropped, repaired, names, ids, system, .. } = rendered;
        let transcript = TranscriptResponse {
            dialect,
            messages,
            dropped: dropped.into_iter().map(Into::into).collect(),
            repaired: repaired.into_iter().map(Into::into).collect(),
            names,
            ids,
            system,
        };
        Self {
            chat: state.chat.into(),
            action: plan.action.as_str(),
            step: plan.step.map(Into::into),
            space: plan.space,
            next_speaker: plan.next_speaker,
            pending_calls: plan.pending_calls.into_iter().map(Into::into).collect(),
            termination: termination.map(Into::into),
            must_reopen: plan.must_reopen,
            open_steps: state.resume_points.into_iter().map(Into::into).collect(),
            transcript,
            context_sequence: state.context.sequence,
            context_snapshot: state.context.data,
            last_artifact: state.artifact.map(Into::into),
            pending_inputs: state.pending_inputs.into_iter().map(Into::into).collect(),
        }
    }
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
