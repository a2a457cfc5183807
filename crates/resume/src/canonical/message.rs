use std::mem;

use chrono::{DateTime, Utc};
use records::JsonObject;
use serde_json::Value;

use super::call::{Call, CallTarget, MalformedCalls, function_call_id};
use super::role::Role;
use crate::rendered::{Origin, Rendered};
use crate::{DropReason, Repair};

/// A stored message, read and ready to be rendered in any dialect.
#[derive(Debug)]
pub(crate) struct CanonicalMessage {
    pub(crate) origin: Origin,
    /// The id of the message, with a suffix for a later one of its results; empty for one that is not stored.
    pub(crate) event_id: String,
    pub(crate) role: Role,
    /// The time that the caller gave, as stored.
    pub(crate) timestamp: Option<String>,
    /// When the message was stored; `None` for one that is not.
    pub(crate) created_at: Option<DateTime<Utc>>,
    /// The id of the call that a tool result answers; empty for any other message.
    pub(crate) call_id: String,
    pub(crate) name: Option<String>,
    /// What a tool result names beside its call.
    pub(crate) result_name: Option<ResultName>,
    /// The content as stored.
    pub(crate) content: Value,
    pub(crate) refusal: Option<String>,
    /// The reasoning as stored.
    pub(crate) reasoning: Value,
    /// The metadata as stored; most dialects have no place for it.
    pub(crate) metadata: JsonObject,
    /// Whether a tool result reports that the call failed.
    pub(crate) is_error: bool,
    /// What formats of providers say about a tool result besides these, as stored.
    pub(crate) result_fields: Value,
    pub(crate) calls: Vec<Call>,
    /// Whether a tool may answer each call several times. The last result counts.
    pub(crate) repeats_results: bool,
    pub(crate) malformed_calls: Option<MalformedCalls>,
    /// The legacy function call; absent if the message has tool calls, even malformed ones.
    pub(crate) function_call: Option<CallTarget>,
    /// What the message came with besides the fields of a stored message, by dialect; once that was chosen, the fields
    /// that are rendered.
    pub(crate) provider: JsonObject,
    /// What was repaired; reported only if the message is rendered.
    pub(crate) repairs: Vec<Repair>,
}

/// The name that the message of a tool result has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ResultName {
    /// Of the agent that ran the calls of a message of AG2, which may have several results.
    Executor(String),
    /// Of anything else, mostly of the tool.
    Other(String),
}

impl ResultName {
    /// The name of the agent that runs the tools of every pattern of AG2.
    pub(crate) const OF_PATTERN: &str = "_Group_Tool_Executor";

    pub(crate) fn as_str(&self) -> &str {
        match self {
            Self::Executor(name) | Self::Other(name) => name,
        }
    }

    pub(crate) fn into_string(self) -> String {
        match self {
            Self::Executor(name) | Self::Other(name) => name,
        }
    }
}

impl CanonicalMessage {
    pub(crate) fn new(origin: Origin, role: Role, content: Value) -> Self {
        Self {
            origin,
            event_id: String::new(),
            role,
            timestamp: None,
            created_at: None,
            call_id: String::new(),
            name: None,
            result_name: None,
            content,
            refusal: None,
            reasoning: Value::Null,
            metadata: JsonObject::new(),
            is_error: false,
            result_fields: Value::Null,
            calls: Vec::new(),
            repeats_results: false,
            malformed_calls: None,
            function_call: None,
            provider: JsonObject::new(),
            repairs: Vec::new(),
        }
    }

    /// Returns about how many bytes the message takes.
    pub(crate) fn approximate_bytes(&self) -> usize {
        let inputs: usize = self.calls.iter().map(|call| call.target.input_bytes()).sum();
        let texts = self.refusal.as_ref().map_or(0, String::len) + self.call_id.len();
        size_of::<Self>()
            + inputs
            + texts
            + value_bytes(&self.content)
            + value_bytes(&self.reasoning)
            + value_bytes(&self.result_fields)
            + object_bytes(&self.provider)
    }

    /// Returns whether the message makes well-formed calls.
    pub(crate) fn makes_calls(&self) -> bool {
        !self.calls.is_empty() || self.function_call.is_some()
    }

    /// Returns whether the message has neither content nor calls nor a result.
    pub(crate) fn says_nothing(&self) -> bool {
        !matches!(self.role, Role::Function | Role::Tool)
            && self.content.is_null()
            && self.refusal.is_none()
            && !self.makes_calls()
            && self.malformed_calls.is_none()
    }

    /// Returns whether the message has any reasoning.
    pub(crate) fn thinks(&self) -> bool {
        self.read_reasoning().is_some_and(|blocks| !blocks.is_empty())
    }

    /// Returns the id of every call that the message makes, malformed ones included.
    pub(crate) fn called_ids(&self) -> impl Iterator<Item = &str> {
        let malformed = self.malformed_calls.iter().flat_map(|malformed| &malformed.ids);
        self.calls.iter().map(|call| &call.stored_id).chain(malformed).map(String::as_str)
    }

    /// Returns the name of every function that the message calls.
    pub(crate) fn function_names(&self) -> impl Iterator<Item = &String> {
        let called = self.calls.iter().map(|call| &call.target);
        called.chain(self.function_call.as_ref()).map(|target| &target.name)
    }

    /// Moves the repairs of the message and of its calls into the rendering.
    pub(crate) fn report_repairs(&mut self, rendered: &mut Rendered) {
        let origin = self.origin;
        let of_calls = self.calls.iter_mut().flat_map(|call| mem::take(&mut call.repairs));
        for repair in mem::take(&mut self.repairs).into_iter().chain(of_calls) {
            rendered.repair(origin, repair);
        }
    }

    /// Converts a legacy function call, or its result, into a tool call or tool result with an id.
    ///
    /// Legacy calls have no ids. Call and result get the same id, made from the name of the function, so
    /// that they are matched like any other call and result.
    #[must_use]
    pub(crate) fn with_call_ids(mut self) -> Self {
        if let Some(target) = self.function_call.take() {
            self.repairs.push(Repair::FunctionCallConverted);
            self.calls.push(Call::from_function(target));
        }
        if self.role == Role::Function {
            self.repairs.push(Repair::FunctionCallConverted);
            self.role = Role::Tool;
            self.call_id = function_call_id(&self.name.take().unwrap_or_default());
        }
        self
    }

    /// Returns whether the message still has content when its tool calls are removed.
    pub(crate) fn has_content_without_calls(&self) -> bool {
        !is_empty_value(&self.content) || self.refusal.is_some()
    }

    /// Removes the tool calls; returns the reason to drop the message if nothing else is left.
    pub(crate) fn without_calls(mut self) -> Result<Self, (Origin, DropReason)> {
        self.calls.clear();
        let malformed = self.malformed_calls.take().is_some();
        let (reason, repair) = if malformed {
            (DropReason::MalformedCalls, Repair::MalformedCallsRemoved)
        } else {
            (DropReason::UnansweredCalls, Repair::UnansweredCallsRemoved)
        };
        if !self.has_content_without_calls() {
            return Err((self.origin, reason));
        }
        self.repairs.push(repair);
        Ok(self)
    }
}

/// Returns whether a value is null, the empty text or the empty list.
pub(crate) fn is_empty_value(content: &Value) -> bool {
    match content {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(parts) => parts.is_empty(),
        _ => false,
    }
}

/// Returns about how many bytes a value takes.
fn value_bytes(value: &Value) -> usize {
    size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(value_bytes).sum(),
            Value::Object(fields) => object_bytes(fields),
            _ => 0,
        }
}

fn object_bytes(fields: &JsonObject) -> usize {
    fields.iter().map(|(key, field)| key.len() + value_bytes(field)).sum()
}
