use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::ensure;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::journal::{Journal, Line};
use super::lease::Lease;
use super::plan::Done;
use super::stop::{Ending, Stop};
use super::workflow::{Call, Place, Task, Way, Workflow};
use crate::client::Chat;

/// An orchestrator that holds the lease and has its plan.
#[derive(Debug)]
pub(super) struct Worker {
    pub(super) workflow: Workflow,
    /// A client with the fencing token on every call.
    pub(super) chat: Chat,
    pub(super) journal: Journal,
    pub(super) lease: Lease,
    pub(super) is_told_to_stop: Arc<AtomicBool>,
    /// The calls that may have run before, by the plan.
    pub(super) known: HashSet<String>,
}

/// Whether a task was done, or is left to the next orchestrator.
#[derive(PartialEq)]
enum Progress {
    Done,
    Left,
}

impl Worker {
    /// Does the rest of the workflow, and completes the chat.
    pub(super) async fn work(&self, is_paused: bool, done: Done) -> Result<Ending, Stop> {
        if is_paused {
            self.write(Method::POST, "reopen", None).await?;
        }
        let mut there = done.messages;
        for task in self.workflow.tasks().skip(done.task as usize) {
            let progress = match task.way {
                Way::Messages => self.do_by_messages(&task, there).await?,
                Way::Turns => self.do_by_turns(&task, there).await?,
            };
            if progress == Progress::Left {
                self.lease.release(&self.chat).await?;
                return Ok(Ending::Terminated);
            }
            there = 0;
        }
        self.write(Method::DELETE, "resume-points", None).await?;
        self.write(Method::POST, "complete", None).await?;
        Ok(Ending::Completed)
    }

    /// Renews the lease until it is lost.
    pub(super) async fn keep_lease(&self) -> Stop {
        self.lease.keep(&self.chat).await
    }

    async fn do_by_messages(&self, task: &Task, there: usize) -> Result<Progress, Stop> {
        for place in task.places().into_iter().skip(there) {
            if self.is_to_stop() {
                return Ok(Progress::Left);
            }
            let mut message = match place {
                Place::Result(call) => self.result(task, call).await?,
                place => self.thought(task, place).await,
            };
            message["event_id"] = task.event_id(place).into();
            self.write_repeatable("messages", &json!({ "messages": [message] })).await?;
        }
        Ok(Progress::Done)
    }

    /// Writes the calls as an unfinished step before any tool runs, and the results together at the end.
    async fn do_by_turns(&self, task: &Task, there: usize) -> Result<Progress, Stop> {
        if there == 0 {
            if self.is_to_stop() {
                return Ok(Progress::Left);
            }
            let messages =
                [self.said(task, Place::User), self.thought(task, Place::Calls).await].into();
            let steps = task.steps(0);
            self.write_turn(task, "calls", "interrupted", messages, steps).await?;
        }
        let mut messages = Vec::new();
        for call in there.saturating_sub(2)..task.calls.len() {
            if self.is_to_stop() {
                return self.leave_turn(task, messages, call).await;
            }
            messages.push(self.result(task, call).await?);
        }
        if self.is_to_stop() {
            return self.leave_turn(task, messages, task.calls.len()).await;
        }
        messages.push(self.thought(task, Place::Conclusion).await);
        self.write_turn(task, "results", "completed", messages, Vec::new()).await?;
        self.write(Method::DELETE, "resume-points", None).await?;
        Ok(Progress::Done)
    }

    /// Writes the finished part of a turn.
    async fn leave_turn(
        &self,
        task: &Task,
        messages: Vec<Value>,
        done: usize,
    ) -> Result<Progress, Stop> {
        let part = format!("part-{}", self.lease.token());
        self.write_turn(task, &part, "interrupted", messages, task.steps(done)).await?;
        Ok(Progress::Left)
    }

    async fn write_turn(
        &self,
        task: &Task,
        part: &str,
        outcome: &str,
        messages: Vec<Value>,
        steps: Vec<Value>,
    ) -> Result<(), Stop> {
        let request_id = format!("task-{}-{part}", task.number);
        let turn = json!({
            "request_id": request_id, "outcome": outcome, "messages": messages, "steps": steps,
        });
        self.write_repeatable("turns", &turn).await
    }

    /// Runs a tool, and returns its result.
    async fn result(&self, task: &Task, call: usize) -> Result<Value, Stop> {
        let Call { id, .. } = &task.calls[call];
        self.lease.confirm(&self.chat).await?;
        let known = self.known.contains(id);
        self.journal.write(&Line::Runs {
            token: self.lease.token(),
            call_id: id.clone(),
            known,
        })?;
        pause().await;
        let mut message = self.said(task, Place::Result(call));
        if known {
            message["metadata"]["rerun"] = true.into();
        }
        Ok(message)
    }

    /// Simulates the time of a model call.
    async fn thought(&self, task: &Task, place: Place) -> Value {
        pause().await;
        self.said(task, place)
    }

    fn said(&self, task: &Task, place: Place) -> Value {
        let mut message = task.message(place);
        message["metadata"] = json!({ "token": self.lease.token() });
        message
    }

    /// Writes, now and then twice: a repeat must have no effect.
    async fn write_repeatable(&self, what: &str, body: &Value) -> Result<(), Stop> {
        let first = self.write(Method::POST, what, Some(body)).await?;
        if fastrand::u8(..8) == 0 {
            let again = self.write(Method::POST, what, Some(body)).await?;
            check_repeat(&first, &again)?;
        }
        Ok(())
    }

    async fn write(&self, method: Method, what: &str, body: Option<&Value>) -> Result<Value, Stop> {
        loop {
            self.journal
                .write(&Line::Sends { token: self.lease.token(), what: what.to_owned() })?;
            match self.chat.send(method.clone(), what, body).await {
                Err(error) if error.may_pass() => pause().await,
                answer => return Ok(answer?),
            }
        }
    }

    fn is_to_stop(&self) -> bool {
        self.is_told_to_stop.load(Ordering::Relaxed)
    }
}

impl Task {
    /// The unfinished steps when the given number of calls has results.
    fn steps(&self, done: usize) -> Vec<Value> {
        let step = |kind: &str, input: Value| {
            json!({
                "type": kind, "status": "running", "assistant_id": "worker",
                "stack_id": self.stack_id(), "space_snapshot": self.space(), "input": input,
            })
        };
        let llm = step("llm", json!({ "task": self.number }));
        let tools = self.calls.iter().skip(done);
        let tools = tools.map(|call| step("tool", json!({ "call_id": call.id })));
        [llm].into_iter().chain(tools).collect()
    }
}

fn check_repeat(first: &Value, again: &Value) -> anyhow::Result<()> {
    let sequences = |answer: &Value| {
        let messages = answer["messages"].as_array().into_iter().flatten();
        messages.map(|message| message["sequence"].clone()).collect::<Vec<_>>()
    };
    ensure!(sequences(first) == sequences(again), "{first} was repeated as {again}");
    Ok(())
}

async fn pause() {
    sleep(Duration::from_millis(fastrand::u64(5..20))).await;
}
