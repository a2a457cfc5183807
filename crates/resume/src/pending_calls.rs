use std::collections::{HashMap, HashSet, VecDeque};

use records::{Message, MessageBody};
use serde_json::Value;

use crate::calls::{self, CallKey};

/// A tool call that no later message answers.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingCall {
    /// The sequence of the message that makes the call.
    pub sequence: u64,
    /// The name of the agent that makes the call.
    pub speaker: Option<String>,
    /// The id of the call; `None` for a legacy function call, which has only a function name.
    pub call_id: Option<String>,
    /// The function or tool that is called.
    pub name: String,
    /// The arguments as stored: for a function, the text of a JSON object; for a custom tool, any text.
    pub arguments: Value,
}

/// Finds the calls without results, in order.
///
/// A result may come anywhere after its call: a dialect may require that it follows directly, but an
/// orchestrator that continues the chat only needs to know whether the tool has run. If two calls
/// of different messages have the same id, the later one hides the earlier one, because a result can name only one of
/// them; results answer those of one message in order.
pub(crate) fn find_pending(messages: &[Message]) -> Vec<PendingCall> {
    let mut pending: Vec<Option<PendingCall>> = Vec::new();
    let mut positions: HashMap<CallKey, VecDeque<usize>> = HashMap::new();
    for message in messages {
        // Results come first: a message can answer only calls of earlier messages.
        for key in calls::calls_answered(&message.body) {
            if let Some(position) = positions.get_mut(&key).and_then(VecDeque::pop_front) {
                pending[position] = None;
            }
        }
        let first = pending.len();
        // The same call twice is one call.
        let mut seen = HashSet::new();
        for call in calls_of(message) {
            let key = call.key();
            let same_id = positions.entry(key).or_default();
            while same_id.front().is_some_and(|position| *position < first)
                && let Some(hidden) = same_id.pop_front()
            {
                pending[hidden] = None;
            }
            if seen.insert((key, call.name.clone(), call.arguments.to_string())) {
                same_id.push_back(pending.len());
                pending.push(Some(call));
            }
        }
    }
    pending.into_iter().flatten().collect()
}

fn calls_of(message: &Message) -> impl Iterator<Item = PendingCall> {
    let Message { sequence, body, .. } = message;
    let tools = body.extra.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
    let tools = tools.filter_map(|call| {
        let id = call.get("id")?.as_str()?.to_owned();
        let (target, input) = match call.get("function") {
            Some(function) => (function, "arguments"),
            None => (call.get("custom")?, "input"),
        };
        pending_call(*sequence, body, Some(id), target, target.get(input))
    });
    let function = body.extra.get("function_call");
    let function = function
        .and_then(|target| pending_call(*sequence, body, None, target, target.get("arguments")));
    tools.chain(function)
}

fn pending_call(
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
        self.call_id.as_deref().map_or_else(|| CallKey::from_function(&self.name), CallKey::from_id)
    }
}
