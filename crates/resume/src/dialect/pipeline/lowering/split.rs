use std::collections::HashMap;

use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, Role};

/// The messages into which a message with too many calls is split, from the second one on.
///
/// Each message is followed by the results of its calls. So a result is kept back until the results
/// of all earlier messages are there, which is when another message follows.
#[derive(Debug)]
pub(super) struct SplitExchange {
    messages: Vec<CanonicalMessage>,
    /// The results for each of these messages.
    results: Vec<Vec<CanonicalMessage>>,
    /// The message that makes each call, by the id of the call.
    callers: HashMap<String, usize>,
}

impl SplitExchange {
    /// Leaves the message only as many calls as one may have; `None` if it has no more.
    pub(super) fn begin(message: &mut CanonicalMessage, max_calls: usize) -> Option<Self> {
        if message.calls.len() <= max_calls {
            return None;
        }
        let mut rest = message.calls.split_off(max_calls).into_iter().peekable();
        let (mut messages, mut callers) = (Vec::new(), HashMap::new());
        while rest.peek().is_some() {
            let calls: Vec<Call> = rest.by_ref().take(max_calls).collect();
            callers.extend(calls.iter().map(|call| (call.id.clone(), messages.len())));
            messages.push(continuation(message, calls));
        }
        message.repairs.push(Repair::CallsSplit { count: messages.len() + 1 });
        let results = messages.iter().map(|_| Vec::new()).collect();
        Some(Self { messages, results, callers })
    }

    /// Keeps back the result of a later message; returns any other one.
    pub(super) fn add(&mut self, result: CanonicalMessage) -> Option<CanonicalMessage> {
        let Some(&caller) = self.callers.get(&result.call_id) else {
            return Some(result);
        };
        self.results[caller].push(result);
        None
    }

    /// Returns each message, followed by its results.
    pub(super) fn into_messages(self) -> impl Iterator<Item = CanonicalMessage> {
        let pairs = self.messages.into_iter().zip(self.results);
        pairs.flat_map(|(message, results)| [message].into_iter().chain(results))
    }
}

/// Creates the message that makes further calls of the same speaker.
fn continuation(first: &CanonicalMessage, calls: Vec<Call>) -> CanonicalMessage {
    let mut message = CanonicalMessage::new(first.origin, Role::Assistant, serde_json::Value::Null);
    message.name.clone_from(&first.name);
    message.calls = calls;
    message
}
