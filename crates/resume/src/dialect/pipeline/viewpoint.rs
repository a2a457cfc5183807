use std::collections::HashSet;
use std::mem;

use serde_json::Value;

use crate::calls::CallKey;
use crate::canonical::{CanonicalMessage, Role, is_empty_value};
use crate::dialect::parsed::{content_from_parts, text_part};
use crate::rendered::Rendered;
use crate::{DropReason, Repair};

/// The agent as which a conversation is rendered: to a model, its own turns are the assistant's, and all others the user's.
#[derive(Debug, Clone)]
pub(super) struct Viewpoint {
    agent: Option<String>,
    /// The calls of other agents, whose results are left out with them.
    others_calls: HashSet<CallKey>,
}

impl Viewpoint {
    /// Renders as this agent, or each role as it is stored.
    pub(super) fn new(agent: Option<String>) -> Self {
        Self { agent, others_calls: HashSet::new() }
    }

    /// Returns the same viewpoint for another pass.
    pub(super) fn restarted(self) -> Self {
        Self::new(self.agent)
    }

    /// Returns the message as the agent sees it, or reports why it is dropped.
    pub(super) fn see(
        &mut self,
        mut message: CanonicalMessage,
        rendered: &mut Rendered,
    ) -> Option<CanonicalMessage> {
        let Some(agent) = &self.agent else { return Some(message) };
        let is_visible = match message.role {
            Role::Tool => !self.others_calls.contains(&CallKey::from_id(&message.call_id)),
            Role::Function => {
                let name = message.name.as_deref().unwrap_or_default();
                !self.others_calls.contains(&CallKey::from_function(name))
            }
            Role::User | Role::Assistant if message.name.as_ref() == Some(agent) => {
                // To the model, its own name before its turns would be part of the text.
                message.name = None;
                message.role = Role::Assistant;
                for key in calls_of(&message) {
                    self.others_calls.remove(&key);
                }
                true
            }
            Role::System | Role::Developer | Role::User => true,
            Role::Assistant => {
                self.others_calls.extend(calls_of(&message));
                become_user(&mut message);
                !message.says_nothing()
            }
        };
        if !is_visible {
            rendered.drop(message.origin, DropReason::OtherAgent);
        }
        is_visible.then_some(message)
    }
}

/// Returns the keys of the calls that a message makes, malformed ones included.
fn calls_of(message: &CanonicalMessage) -> Vec<CallKey> {
    let function = message.function_call.iter().map(|target| CallKey::from_function(&target.name));
    message.called_ids().map(CallKey::from_id).chain(function).collect()
}

/// Turns what another agent said into what a user said. A user thinks and calls nothing.
fn become_user(message: &mut CanonicalMessage) {
    message.role = Role::User;
    if message.makes_calls() || message.malformed_calls.is_some() {
        message.calls.clear();
        message.function_call = None;
        message.malformed_calls = None;
        message.repairs.push(Repair::OtherCallsRemoved);
    }
    if !is_empty_value(&message.reasoning) {
        message.reasoning = Value::Null;
        message.repairs.push(Repair::ReasoningRemoved);
    }
    if !mem::take(&mut message.provider).is_empty() {
        message.repairs.push(Repair::ProviderFieldsRemoved);
    }
    if let Some(refusal) = message.refusal.take() {
        message.repairs.push(Repair::RefusalGivenAsText);
        let part = text_part(refusal);
        message.content = match message.content.take() {
            Value::Array(parts) => parts.into_iter().chain([part]).collect(),
            content if is_empty_value(&content) => content_from_parts(vec![part]),
            Value::String(text) => vec![text_part(text), part].into(),
            content => vec![text_part(content.to_string()), part].into(),
        };
    }
}
