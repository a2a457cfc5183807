use std::mem;

use serde_json::{Map, Value, json};

use super::call::{Call, Malformed, Target};
use super::content;
use super::role::Role;
use crate::dialect::{Origin, Rendered};
use crate::{DropReason, Repair};

/// A message on its way from the log into the rendering.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) origin: Origin,
    pub(super) role: Role,
    /// The call that a result answers; empty for any other message.
    pub(super) call_id: String,
    pub(super) name: Option<String>,
    /// The content as it is in the log.
    pub(super) content: Value,
    pub(super) refusal: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) malformed: Option<Malformed>,
    /// Absent when there are calls, malformed ones included.
    pub(super) function_call: Option<Target>,
    /// Reported only when the message is kept.
    pub(super) repairs: Vec<Repair>,
}

impl Draft {
    pub(super) fn new(origin: Origin, role: Role, content: Value) -> Self {
        Self {
            origin,
            role,
            call_id: String::new(),
            name: None,
            content,
            refusal: None,
            calls: Vec::new(),
            malformed: None,
            function_call: None,
            repairs: Vec::new(),
        }
    }

    /// Says whether the message makes calls that are well formed.
    pub(super) fn makes_calls(&self) -> bool {
        !self.calls.is_empty() || self.function_call.is_some()
    }

    /// Returns the id of every call that the message makes, well formed or not.
    pub(super) fn called_ids(&self) -> impl Iterator<Item = &str> {
        let malformed = self.malformed.iter().flat_map(|malformed| &malformed.ids);
        self.calls.iter().map(|call| &call.id).chain(malformed).map(String::as_str)
    }

    /// Returns every name of a speaker or a function in the message.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        let called = self.calls.iter().map(|call| &call.target);
        let targets = called.chain(self.function_call.as_ref());
        self.name.iter().chain(targets.map(|target| &target.name))
    }

    /// Returns them to be changed.
    pub(super) fn names_mut(&mut self) -> impl Iterator<Item = &mut String> {
        let called = self.calls.iter_mut().map(|call| &mut call.target);
        let targets = called.chain(self.function_call.as_mut());
        self.name.iter_mut().chain(targets.map(|target| &mut target.name))
    }

    /// Says whether anything is left of the message without its tool calls.
    pub(super) fn stays_without_calls(&self) -> bool {
        !content::is_blank(&self.content) || self.refusal.is_some()
    }

    /// Takes the tool calls away, or says why nothing is left without them.
    pub(super) fn without_calls(mut self) -> Result<Self, (Origin, DropReason)> {
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

    /// Adds the message, and what was repaired about it, to the rendering.
    pub(super) fn write(mut self, rendered: &mut Rendered) {
        self.fit_content();
        let of_calls = self.calls.iter_mut().flat_map(|call| mem::take(&mut call.repairs));
        let repairs = mem::take(&mut self.repairs).into_iter().chain(of_calls);
        for repair in repairs {
            rendered.repair(self.origin, repair);
        }
        rendered.messages.push(self.into());
    }

    fn fit_content(&mut self) {
        let is_null = self.content.is_null();
        if self.makes_calls() && !is_null && content::is_blank(&self.content) {
            self.content = Value::Null;
            self.repairs.push(Repair::EmptyContentRemoved);
        }
        if !self.makes_calls()
            && is_null
            && let Some(refusal) = self.refusal.take()
        {
            self.content = json!([{"type": "refusal", "refusal": refusal}]);
            self.repairs.push(Repair::RefusalMoved);
        }
        if let Some(text) = content::serialised(self.role, &self.content) {
            self.content = text;
            self.repairs.push(Repair::ContentSerialised);
        }
    }
}

impl From<Draft> for Value {
    fn from(draft: Draft) -> Self {
        let mut message = Map::with_capacity(4);
        let mut put = |field: &str, value| message.insert(field.to_owned(), value);
        put("role", draft.role.as_str().into());
        if draft.role == Role::Tool {
            put("tool_call_id", draft.call_id.into());
        }
        if let Some(name) = draft.name {
            put("name", name.into());
        }
        put("content", draft.content);
        if let Some(refusal) = draft.refusal {
            put("refusal", refusal.into());
        }
        if !draft.calls.is_empty() {
            put("tool_calls", draft.calls.into_iter().map(Value::from).collect());
        }
        if let Some(target) = draft.function_call {
            put("function_call", target.write_function());
        }
        Value::Object(message)
    }
}
