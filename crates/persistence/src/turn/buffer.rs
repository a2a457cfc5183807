use std::collections::{HashMap, HashSet};

use records::{
    JsonObject, MessageBody, NewTurn, Step, StepStatus, TurnId, TurnMessage, TurnOutcome,
};
use serde_json::Value;

use super::TurnError;
use super::path::{self, PathError};

/// The recorded part of a turn.
#[derive(Debug, Default)]
pub struct TurnBuffer {
    messages: Vec<Recorded>,
    places: HashMap<String, usize>,
    /// The keys of messages that are not recorded; their deltas are ignored.
    events: HashSet<String>,
    steps: Vec<Step>,
    space: JsonObject,
    /// The connector to the model that was used last.
    pub connector: Option<String>,
    /// The mode of the turn.
    pub mode: Option<String>,
}

#[derive(Debug)]
struct Recorded {
    message: TurnMessage,
    is_complete: bool,
}

impl TurnBuffer {
    /// The `event_type` of messages that only report the progress of a stream. They are not recorded.
    pub const EVENT: &'static str = "event";

    /// Adds a message; the order of calls is the order of the messages.
    ///
    /// Deltas name the message by its `key`, which is unique within the turn and not stored.
    /// Another message with the same key replaces it.
    ///
    /// Returns the position of the message in the turn; `None` if it is not recorded.
    pub fn add(&mut self, key: Option<&str>, message: TurnMessage) -> Option<usize> {
        if is_event(&message.body) {
            self.events.extend(key.map(str::to_owned));
            return None;
        }
        let recorded = Recorded { message, is_complete: key.is_none() };
        let end = self.messages.len();
        let place = key.map_or(end, |key| *self.places.entry(key.to_owned()).or_insert(end));
        if place == end {
            self.messages.push(recorded);
        } else {
            self.messages[place] = recorded;
        }
        Some(place)
    }

    /// Returns whether the key belongs to a message that is not recorded.
    pub fn is_of_event(&self, key: &str) -> bool {
        self.events.contains(key) && !self.places.contains_key(key)
    }

    /// Appends text to the value at a path of a message, such as `content` or `content.0.text`.
    ///
    /// A missing or null value becomes the text. An index may be one past the end of its array.
    pub fn append(&mut self, key: &str, path: &str, text: &str) -> Result<(), TurnError> {
        self.change(key, path, |value| match value {
            Value::String(so_far) => {
                so_far.push_str(text);
                Ok(())
            }
            Value::Null => {
                *value = Value::from(text);
                Ok(())
            }
            _ => Err(PathError::NotText),
        })
    }

    /// Replaces the value at a path of a message.
    pub fn replace(&mut self, key: &str, path: &str, value: Value) -> Result<(), TurnError> {
        self.change(key, path, |place| {
            *place = value;
            Ok(())
        })
    }

    /// Completes a streamed message, and returns its content. Later deltas are refused.
    pub fn complete(&mut self, key: &str) -> Result<Value, TurnError> {
        let recorded = self.recorded(key)?;
        recorded.is_complete = true;
        Ok(recorded.message.body.content.clone())
    }

    /// Sets a value in the space that steps share; null removes it.
    pub fn set_space(&mut self, name: &str, value: Value) {
        if value.is_null() {
            self.space.remove(name);
        } else {
            self.space.insert(name.to_owned(), value);
        }
    }

    /// Returns the space that steps share.
    pub fn space(&self) -> &JsonObject {
        &self.space
    }

    /// Begins a step with the current space; returns its number.
    pub fn begin_step(&mut self, step: Step) -> usize {
        let space_snapshot = self.space.clone();
        self.steps.push(Step { status: StepStatus::Running, space_snapshot, ..step });
        self.steps.len() - 1
    }

    /// Completes a step.
    pub fn complete_step(
        &mut self,
        step: usize,
        output: Option<JsonObject>,
    ) -> Result<(), TurnError> {
        let step = self.running(step)?;
        (step.status, step.output) = (StepStatus::Completed, output);
        Ok(())
    }

    /// Ends a step with an error, and with the output it produced before.
    pub fn fail_step(
        &mut self,
        step: usize,
        error: String,
        output: Option<JsonObject>,
    ) -> Result<(), TurnError> {
        let step = self.running(step)?;
        (step.status, step.error, step.output) = (StepStatus::Failed, Some(error), output);
        Ok(())
    }

    /// Returns the turn.
    pub fn finish(self, request_id: TurnId, outcome: TurnOutcome) -> NewTurn {
        let messages = self.messages.into_iter().map(|recorded| recorded.message).collect();
        let Self { steps, connector, mode, .. } = self;
        NewTurn { request_id, outcome, messages, steps, connector, mode }
    }

    fn running(&mut self, step: usize) -> Result<&mut Step, TurnError> {
        let running = self.steps.get_mut(step).filter(|it| it.status == StepStatus::Running);
        running.ok_or(TurnError::NoSuchStep(step))
    }

    fn recorded(&mut self, key: &str) -> Result<&mut Recorded, TurnError> {
        let place = self.places.get(key).copied();
        let recorded = place.and_then(|place| self.messages.get_mut(place));
        recorded.ok_or_else(|| TurnError::UnknownMessage(key.to_owned()))
    }

    fn change(
        &mut self,
        key: &str,
        path: &str,
        change: impl FnOnce(&mut Value) -> Result<(), PathError>,
    ) -> Result<(), TurnError> {
        if self.is_of_event(key) {
            return Ok(());
        }
        let recorded = self.recorded(key)?;
        if recorded.is_complete {
            return Err(TurnError::CompleteMessage(key.to_owned()));
        }
        let body = &mut recorded.message.body;
        let changed = path::place(body, path).and_then(change);
        changed.map_err(|misstep| {
            let (key, path) = (key.to_owned(), path.to_owned());
            match misstep {
                PathError::NotFound => TurnError::NoSuchPath { key, path },
                PathError::NotText => TurnError::NotText { key, path },
            }
        })
    }
}

fn is_event(body: &MessageBody) -> bool {
    body.extra.get("event_type").is_some_and(|kind| kind == TurnBuffer::EVENT)
}
