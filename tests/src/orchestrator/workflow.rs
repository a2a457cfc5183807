//! The workflow of a chat: tasks that are generated from a seed.

use fastrand::Rng;
use serde_json::{Value, json};

/// Tasks that are generated from a seed.
#[derive(Clone, Copy, Debug)]
pub struct Workflow {
    /// The seed.
    pub seed: u64,
    /// The number of tasks.
    pub tasks: u32,
}

/// How a task is written to the chat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Message by message.
    Messages,
    /// As turns with steps.
    Turns,
}

/// A task of a workflow.
#[derive(Clone, Debug)]
pub struct Task {
    /// Its number, from 0.
    pub number: u32,
    /// How it is written to the chat.
    pub way: Way,
    /// Its tool calls.
    pub calls: Vec<Call>,
}

/// A call of a tool.
#[derive(Clone, Debug)]
pub struct Call {
    /// Its unique id.
    pub id: String,
    /// Its arguments.
    pub number: u32,
}

/// The role of a message in its task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The user's request.
    User,
    /// The assistant's calls.
    Calls,
    /// The result of a call.
    Result(usize),
    /// The assistant's conclusion.
    Conclusion,
}

impl Workflow {
    /// Its tasks, in order.
    pub fn tasks(&self) -> impl Iterator<Item = Task> {
        (0..self.tasks).map(|number| self.task(number))
    }

    fn task(&self, number: u32) -> Task {
        let mut random = Rng::with_seed(self.seed.rotate_left(32).wrapping_add(u64::from(number)));
        let way = if random.bool() { Way::Messages } else { Way::Turns };
        let calls = (0..random.u32(1..=3))
            .map(|call| Call { id: format!("call-{number}-{call}"), number: random.u32(..1_000) });
        Task { number, way, calls: calls.collect() }
    }
}

impl Task {
    /// The roles of its messages, in order.
    pub fn places(&self) -> Vec<Place> {
        let results = (0..self.calls.len()).map(Place::Result);
        [Place::User, Place::Calls].into_iter().chain(results).chain([Place::Conclusion]).collect()
    }

    /// The event id of a message that is appended by itself.
    pub fn event_id(&self, place: Place) -> String {
        let place = match place {
            Place::User => "user".to_owned(),
            Place::Calls => "calls".to_owned(),
            Place::Result(call) => format!("result-{call}"),
            Place::Conclusion => "conclusion".to_owned(),
        };
        format!("task-{}-{place}", self.number)
    }

    /// The content of the message with a role.
    pub fn message(&self, place: Place) -> Value {
        let number = self.number;
        match place {
            Place::User => {
                json!({ "role": "user", "name": "user", "content": format!("Do task {number}") })
            }
            Place::Calls => {
                let calls: Vec<Value> = self.calls.iter().map(Call::made).collect();
                let content = format!("Task {number} takes {} calls", calls.len());
                json!({ "role": "assistant", "name": "worker", "content": content, "tool_calls": calls })
            }
            Place::Result(call) => self.calls[call].answered(),
            Place::Conclusion => {
                let content = format!("Task {number} is done");
                json!({ "role": "assistant", "name": "worker", "content": content })
            }
        }
    }
}

impl Call {
    fn made(&self) -> Value {
        let arguments = json!({ "number": self.number }).to_string();
        let function = json!({ "name": "square", "arguments": arguments });
        json!({ "id": self.id, "type": "function", "function": function })
    }

    fn answered(&self) -> Value {
        let content = (self.number * self.number).to_string();
        json!({ "role": "tool", "tool_call_id": self.id, "content": content })
    }
}
