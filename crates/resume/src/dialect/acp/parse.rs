use std::collections::{HashMap, HashSet};
use std::mem;

use records::NewMessage;
use serde_json::Value;

use super::call::Call;
use super::content::part;
use crate::DropReason;
use crate::canonical::{Reasoning, taken};
use crate::dialect::parsed::{self, Parsed, Place, Said, event_id};

/// Reads updates; those that are part of one message come behind each other.
///
/// A call is read as it stood in the end, where it is made; its result, where it ends.
pub(super) fn parse(updates: Vec<Value>) -> Parsed {
    let calls = calls(&updates);
    let mut reader = Reader::default();
    let mut ended = HashSet::new();
    for (index, mut update) in updates.into_iter().enumerate() {
        let kind = update["sessionUpdate"].as_str().unwrap_or_default().to_owned();
        match kind.as_str() {
            "user_message_chunk" => reader.join(index, "user", &update).read(&kind, &mut update),
            "agent_message_chunk" | "agent_thought_chunk" => {
                reader.join(index, "assistant", &update).read(&kind, &mut update);
            }
            "tool_call" => {
                let id = call_id(&update);
                let call = &calls[id];
                let (name, input) = (call.name().unwrap_or_default(), call.input());
                let call = parsed::call(id, name, input.unwrap_or(&Value::Null));
                reader.join(index, "assistant", &update).said.calls.push(call);
            }
            "tool_call_update" => {}
            _ if update.is_object() => {
                reader.parsed.drop(index, DropReason::unsupported_role(&kind));
            }
            _ => reader.parsed.drop(index, DropReason::NotAnObject),
        }
        if is_of_call(&update)
            && has_ended(&update)
            && let Some((id, call)) = calls.get_key_value(call_id(&update))
            && ended.insert(id)
        {
            let result = parsed::result(id, call.output(), call.has_failed() == Some(true));
            reader.end();
            reader.parsed.add(Place::Message(index), result);
        }
    }
    reader.end();
    reader.parsed
}

/// Returns what is told of each call, by its id.
fn calls(updates: &[Value]) -> HashMap<String, Call> {
    let mut calls: HashMap<String, Call> = HashMap::new();
    for update in updates.iter().filter(|update| is_of_call(update)) {
        calls.entry(call_id(update).to_owned()).or_default().tell(update);
    }
    calls
}

fn is_of_call(update: &Value) -> bool {
    matches!(update["sessionUpdate"].as_str(), Some("tool_call" | "tool_call_update"))
}

fn has_ended(update: &Value) -> bool {
    matches!(update["status"].as_str(), Some("completed" | "failed"))
}

fn call_id(update: &Value) -> &str {
    update["toolCallId"].as_str().unwrap_or_default()
}

/// Puts messages together.
#[derive(Default)]
struct Reader {
    parsed: Parsed,
    open: Open,
    /// Every id there was: where a message goes on behind a result, that is another one.
    ids: HashSet<String>,
}

/// The message whose updates are being read.
#[derive(Default)]
struct Open {
    index: usize,
    role: &'static str,
    id: Option<String>,
    name: Option<String>,
    said: Said,
}

impl Reader {
    /// Returns the message that an update is part of, which begins with it if there is none.
    fn join(&mut self, index: usize, role: &'static str, update: &Value) -> &mut Open {
        let id = update["messageId"].as_str().or_else(|| update["_meta"]["messageId"].as_str());
        let is_known = id.is_none() || id == self.open.id.as_deref();
        if self.open.role != role || !is_known {
            self.end();
            let id = id.map(str::to_owned);
            let name = update["_meta"]["name"].as_str().map(str::to_owned);
            self.open = Open { index, role, id, name, said: Said::default() };
        }
        &mut self.open
    }

    fn end(&mut self) {
        let Open { index, role, id, name, said } = mem::take(&mut self.open);
        if role.is_empty() {
            return;
        }
        let id = id.filter(|id| self.ids.insert(id.clone()));
        let body = said.into_body(role, name.as_deref());
        let message = NewMessage { event_id: event_id(id), ..body.into() };
        self.parsed.add(Place::Message(index), message);
    }
}

impl Open {
    fn read(&mut self, kind: &str, update: &mut Value) {
        let content = taken(update, "content");
        if kind == "agent_thought_chunk" {
            let text = content["text"].as_str().unwrap_or_default().to_owned();
            self.said.reasoning.push(Reasoning::Text { text, signature: None });
        } else {
            self.said.parts.push(part(content));
        }
    }
}
