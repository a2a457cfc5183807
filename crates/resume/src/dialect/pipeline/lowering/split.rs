use std::collections::HashMap;

use crate::Repair;
use crate::canonical::{Call, CanonicalMessage, Role};

/// The messages into which a message with too many calls is split, from the second one on.
///
/// Each message is followed by the results of its calls. So a result is kept back until the results
/// of all earlier messages are there, which is when another message follows.
#[derive(Debug)]
pub(super) struct SplitExchange {
    /// Each message, followed by its results.
    exchanges: Vec<Vec<CanonicalMessage>>,
    /// The exchange of each call, by the id of the call.
    callers: HashMap<String, usize>,
}

impl SplitExchange {
    /// Leaves the message only as many calls as one may have; `None` if it has no more.
    pub(super) fn begin(message: &mut CanonicalMessage, max_calls: usize) -> Option<Self> {
        if message.calls.len() <= max_calls {
            return None;
        }
        let mut rest = message.calls.split_off(max_calls).into_iter().peekable();
        let (mut exchanges, mut callers) = (Vec::new(), HashMap::new());
        while rest.peek().is_some() {
            let calls: Vec<Call> = rest.by_ref().take(max_calls).collect();
            callers.extend(calls.iter().map(|call| (call.id.clone(), exchanges.len())));
            exchanges.push(vec![continuation(message, calls)]);
        }
        message.repairs.push(Repair::CallsSplit { count: exchanges.len() + 1 });
        Some(Self { exchanges, callers })
    }

    /// Keeps back the result of a later message; returns any other one.
    pub(super) fn add(&mut self, result: CanonicalMessage) -> Option<CanonicalMessage> {
        let Some(&caller) = self.callers.get(&result.call_id) else {
            return Some(result);
        };
        self.exchanges[caller].push(result);
        None
    }

    /// Returns each message, followed by its results.
    pub(super) fn into_messages(self) -> impl Iterator<Item = CanonicalMessage> {
        self.exchanges.into_iter().flatten()
    }
}

/// Creates the message that makes further calls of the same speaker.
fn continuation(first: &CanonicalMessage, calls: Vec<Call>) -> CanonicalMessage {
    let mut message = CanonicalMessage::new(first.origin, Role::Assistant, serde_json::Value::Null);
    message.name.clone_from(&first.name);
    message.calls = calls;
    message
}
