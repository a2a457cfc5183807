use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

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

/// Finds the calls without results, while it sees each message of a conversation once, in order.
///
/// A result may come anywhere after its call: a dialect may require that it follows directly, but an
/// orchestrator that continues the chat only needs to know whether the tool has run. If two calls
/// of different messages have the same id, the later one hides the earlier one, because a result can name only one of
/// them; results answer those of one message in order.
#[derive(Debug, Default)]
pub(crate) struct PendingScan {
    /// The calls without results so far, by their number.
    pending: BTreeMap<usize, (PendingCall, usize)>,
    /// The numbers of the pending calls with a key.
    numbers: HashMap<CallKey, VecDeque<usize>>,
    /// How many calls there were.
    count: usize,
    /// The size of the pending calls, in bytes.
    pub(crate) bytes: usize,
}

impl PendingScan {
    pub(crate) fn observe(&mut self, message: &Message) {
        // Results come first: a message can answer only calls of earlier messages.
        for key in calls::calls_answered(&message.body) {
            self.remove_first(key);
        }
        let first = self.count;
        // The same call twice is one call.
        let mut seen = HashSet::new();
        for call in calls_of(message) {
            let key = call.key();
            while self.numbers.get(&key).is_some_and(|same_id| same_id[0] < first) {
                self.remove_first(key);
            }
            let arguments = call.arguments.to_string();
            let bytes = call.name.len() + arguments.len();
            if seen.insert((key, call.name.clone(), arguments)) {
                self.numbers.entry(key).or_default().push_back(self.count);
                self.pending.insert(self.count, (call, bytes));
                self.bytes += bytes;
                self.count += 1;
            }
        }
    }

    /// Removes the first pending call with a key.
    fn remove_first(&mut self, key: CallKey) {
        let Entry::Occupied(mut same_id) = self.numbers.entry(key) else { return };
        let number = same_id.get_mut().pop_front();
        if same_id.get().is_empty() {
            same_id.remove();
        }
        if let Some((_, bytes)) = number.and_then(|number| self.pending.remove(&number)) {
            self.bytes -= bytes;
        }
    }

    /// Returns the calls without results, in order.
    pub(crate) fn into_pending(self) -> Vec<PendingCall> {
        self.pending.into_values().map(|(call, _)| call).collect()
    }
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
