use serde_json::Value;

use crate::faults::body;
use crate::faults::history::Sent;

/// Messages that are sent together, and always as a whole.
#[derive(Debug)]
pub(super) struct Parcel {
    pub(super) chat: String,
    pub(super) messages: Vec<Value>,
}

impl Parcel {
    /// Its record in the history.
    pub(super) fn sent(&self) -> Vec<Sent> {
        let sent = |message: &Value| Sent {
            event_id: message["event_id"].as_str().unwrap_or_default().to_owned(),
            hash: body::hash(message),
        };
        self.messages.iter().map(sent).collect()
    }
}
