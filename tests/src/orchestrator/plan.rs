use anyhow::{Result, bail, ensure};
use serde::Deserialize;
use serde_json::{Value, json};

use super::stop::Stop;
use super::workflow::{Place, Task, Way, Workflow};
use crate::client::{CallError, Chat};

/// The service's plan for continuing a chat.
#[derive(Debug, Deserialize)]
pub(super) struct Plan {
    pub(super) chat: ChatState,
    pub(super) action: String,
    step: Option<Step>,
    space: Value,
    pending_calls: Vec<PendingCall>,
    transcript: Transcript,
}

#[derive(Debug, Deserialize)]
pub(super) struct ChatState {
    status: String,
    pub(super) last_sequence: u64,
}

#[derive(Debug, Deserialize)]
struct Step {
    stack_id: String,
}

#[derive(Debug, Deserialize)]
struct PendingCall {
    call_id: String,
}

#[derive(Debug, Deserialize)]
struct Transcript {
    messages: Vec<Value>,
}

/// The progress of a workflow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Done {
    /// The unfinished task.
    pub(super) task: u32,
    /// The number of its stored messages.
    pub(super) messages: usize,
}

impl Plan {
    /// Reads the plan of a chat.
    pub(super) async fn read(chat: &Chat) -> Result<Self, Stop> {
        let plan = chat.get("resume?dialect=openai&unsettled=settle").await?;
        Ok(serde_json::from_value(plan).map_err(CallError::from)?)
    }

    /// The ids of the calls that may have run and have no results.
    pub(super) fn pending(&self) -> Vec<String> {
        self.pending_calls.iter().map(|call| call.call_id.clone()).collect()
    }

    /// Whether the chat was interrupted before it was taken over.
    pub(super) fn is_paused(&self) -> bool {
        self.chat.status == "paused"
    }

    /// Returns the progress of the workflow.
    ///
    /// Fails if the plan contradicts itself, or if its transcript is not the beginning of the workflow.
    pub(super) fn done(&self, workflow: &Workflow) -> Result<Done> {
        // Each pending call has a placeholder result in the transcript, which says that there is none.
        let there = self.transcript.messages.len().saturating_sub(self.pending_calls.len());
        ensure!(there as u64 == self.chat.last_sequence, "{there} messages: {:?}", self.chat);
        let mut transcript = self.transcript.messages.iter().take(there);
        for task in workflow.tasks() {
            let places = task.places();
            let told = transcript.by_ref().take(places.len()).collect::<Vec<_>>();
            for (place, told) in places.iter().zip(&told) {
                ensure!(is_told(&task, *place, told), "{place:?} of {task:?} became {told}");
            }
            if told.len() < places.len() {
                self.check(&task, told.len())?;
                return Ok(Done { task: task.number, messages: told.len() });
            }
        }
        ensure!(transcript.next().is_none(), "there is more than the workflow has");
        Ok(Done { task: workflow.tasks, messages: 0 })
    }

    /// Checks that the plan fits the given number of messages of a task.
    fn check(&self, task: &Task, messages: usize) -> Result<()> {
        let calls = task.calls.iter().map(|call| &call.id);
        let pending: Vec<&String> = match messages {
            0 | 1 => Vec::new(),
            more => calls.skip(more - 2).collect(),
        };
        let told: Vec<_> = self.pending_calls.iter().map(|call| &call.call_id).collect();
        ensure!(told == pending, "{told:?} are said to be pending of {task:?} after {messages}");
        let expected: &[&str] = match messages {
            0 => &["start", "continue", "nothing_to_do"],
            1 => &["start"],
            _ => &["continue"],
        };
        let action = &*self.action;
        ensure!(expected.contains(&action), "{action} after {messages} messages of {task:?}");
        if task.way == Way::Turns && messages > 0 {
            let Some(step) = &self.step else { bail!("there is no step to run of {task:?}") };
            ensure!(step.stack_id == task.stack_id(), "{step:?} is no step of {task:?}");
            ensure!(self.space == task.space(), "{} is the space of {task:?}", self.space);
        }
        Ok(())
    }
}

impl Task {
    /// The call of the call stack to which its steps belong.
    pub(super) fn stack_id(&self) -> String {
        format!("stack-{}", self.number)
    }

    /// The shared space during the task.
    pub(super) fn space(&self) -> Value {
        json!({ "task": self.number })
    }
}

fn is_told(task: &Task, place: Place, told: &Value) -> bool {
    let said = task.message(place);
    ["role", "content", "tool_calls", "tool_call_id"].iter().all(|field| told[field] == said[field])
}
