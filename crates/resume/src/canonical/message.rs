use std::mem;

use serde_json::Value;

use super::call::{Call, Malformed, Target, function_call_id};
use super::role::Role;
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Repair};

/// A message on its way from the log into a rendering.
#[derive(Debug)]
pub(crate) struct Canonical {
    pub(crate) origin: Origin,
    /// Names the message; empty for one that is not in the log.
    pub(crate) event_id: String,
    pub(crate) role: Role,
    /// The call that a result answers; empty for any other message.
    pub(crate) call_id: String,
    pub(crate) name: Option<String>,
    /// The content as it is in the log.
    pub(crate) content: Value,
    pub(crate) refusal: Option<String>,
    /// The reasoning as it is in the log.
    pub(crate) reasoning: Value,
    /// Says of a result that the call failed.
    pub(crate) is_error: bool,
    pub(crate) calls: Vec<Call>,
    pub(crate) malformed: Option<Malformed>,
    /// Absent when there are calls, malformed ones included.
    pub(crate) function_call: Option<Target>,
    /// Reported only when the message is kept.
    pub(crate) repairs: Vec<Repair>,
}

impl Canonical {
    pub(crate) fn new(origin: Origin, role: Role, content: Value) -> Self {
        Self {
            origin,
            event_id: String::new(),
            role,
            call_id: String::new(),
            name: None,
            content,
            refusal: None,
            reasoning: Value::Null,
            is_error: false,
            calls: Vec::new(),
            malformed: None,
            function_call: None,
            repairs: Vec::new(),
        }
    }

    /// Says whether the message makes calls that are well formed.
    pub(crate) fn makes_calls(&self) -> bool {
        !self.calls.is_empty() || self.function_call.is_some()
    }

    /// Returns the id of every call that the message makes, well formed or not.
    pub(crate) fn called_ids(&self) -> impl Iterator<Item = &str> {
        let malformed = self.malformed.iter().flat_map(|malformed| &malformed.ids);
        self.calls.iter().map(|call| &call.id).chain(malformed).map(String::as_str)
    }

    /// Returns the name of every function that the message calls.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &String> {
        let called = self.calls.iter().map(|call| &call.target);
        called.chain(self.function_call.as_ref()).map(|target| &target.name)
    }

    /// Returns them to be changed.
    pub(crate) fn functions_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let called = self.calls.iter_mut().map(|call| &mut call.target);
        called.chain(self.function_call.as_mut()).map(|target| &mut target.name)
    }

    /// Adds what was repaired to the rendering.
    pub(crate) fn report(&mut self, rendered: &mut Rendered) {
        let origin = self.origin;
        let of_calls = self.calls.iter_mut().flat_map(|call| mem::take(&mut call.repairs));
        for repair in mem::take(&mut self.repairs).into_iter().chain(of_calls) {
            rendered.repair(origin, repair);
        }
    }

    /// Turns the older call of a function, or its result, into one with an id.
    #[must_use]
    pub(crate) fn with_ids(mut self) -> Self {
        if let Some(target) = self.function_call.take() {
            self.repairs.push(Repair::FunctionCallConverted);
            self.calls.push(Call::of_function(target));
        }
        if self.role == Role::Function {
            self.repairs.push(Repair::FunctionCallConverted);
            self.role = Role::Tool;
            self.call_id = function_call_id(&self.name.take().unwrap_or_default());
        }
        self
    }

    /// Says whether anything is left of the message without its tool calls.
    pub(crate) fn stays_without_calls(&self) -> bool {
        !is_blank(&self.content) || self.refusal.is_some()
    }

    /// Takes the tool calls away, or says why nothing is left without them.
    pub(crate) fn without_calls(mut self) -> Result<Self, (Origin, DropReason)> {
        self.calls.clear();
        let malformed = self.malformed.take().is_some();
        let (reason, repair) = if malformed {
            (DropReason::MalformedCalls, Repair::MalformedCallsRemoved)
        } else {
            (DropReason::UnansweredCalls, Repair::UnansweredCallsRemoved)
        };
        if !self.stays_without_calls() {
            return Err((self.origin, reason));
        }
        self.repairs.push(repair);
        Ok(self)
    }
}

/// Says whether a content says nothing at all.
pub(crate) fn is_blank(content: &Value) -> bool {
    match content {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        _ => false,
    }
}
