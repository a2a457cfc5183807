use std::collections::HashMap;

use records::{Message, MessageBody};
use serde_json::Value;

use crate::calls::{self, CallKey};

/// A call of a tool that no later message answers.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    /// The position in the chat of the message that makes it.
    pub sequence: u64,
    /// Who makes it.
    pub speaker: Option<String>,
    /// Its id; none for the older calls, which have only the name of a function.
    pub call_id: Option<String>,
    /// What is called.
    pub name: String,
    /// What with, as it is in the log: mostly the text of a JSON object, of a custom call any text.
    pub arguments: Value,
}

/// Finds the calls that are not answered, in order.
///
/// Unlike a form, which may want results directly after their calls, this takes a result wherever it
/// comes. Of two calls with one id the later one counts.
pub(crate) fn of(messages: &[Message]) -> Vec<PendingCall> {
    let mut pending: Vec<Option<PendingCall>> = Vec::new();
    let mut places: HashMap<CallKey, usize> = HashMap::new();
    for message in messages {
        for key in calls::answered(&message.body) {
            if let Some(place) = places.remove(&key) {
                pending[place] = None;
            }
        }
        for call in made(message) {
            if let Some(place) = places.insert(call.key(), pending.len()) {
                pending[place] = None;
            }
            pending.push(Some(call));
        }
    }
    pending.into_iter().flatten().collect()
}

fn made(message: &Message) -> impl Iterator<Item = PendingCall> {
    let Message { sequence, body, .. } = message;
    let tools = body.extra.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let tools = tools.filter_map(|call| {
        let id = call.get("id")?.as_str()?.to_owned();
        let (target, input) = match call.get("function") {
            Some(function) => (function, "arguments"),
            None => (call.get("custom")?, "input"),
        };
        pending(*sequence, body, Some(id), target, target.get(input))
    });
    let function = body.extra.get("function_call");
    let function =
        function.and_then(|target| pending(*sequence, body, None, target, target.get("arguments")));
    tools.chain(function)
}

fn pending(
    sequence: u64,
    body: &MessageBody,
    call_id: Option<String>,
    target: &Value,
    arguments: Option<&Value>,
) -> Option<PendingCall> {
    let name = target.get("name")?.as_str()?.to_owned();
    let arguments = arguments.cloned().unwrap_or_default();
    let speaker = body.name.clone().filter(|name| !name.is_empty());
    Some(PendingCall { sequence, speaker, call_id, name, arguments })
}

impl PendingCall {
    fn key(&self) -> CallKey {
        self.call_id.as_deref().map_or_else(|| CallKey::of_function(&self.name), CallKey::of_id)
    }
}
