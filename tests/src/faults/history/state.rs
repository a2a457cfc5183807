use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The final state, from two sources.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalState {
    /// As the service returns it.
    pub served: State,
    /// As the database stores it.
    pub stored: State,
    /// The contents of the documents, by their paths.
    #[serde(default)]
    pub documents: BTreeMap<String, String>,
}

/// All chats, by their ids.
pub type State = BTreeMap<String, ChatState>;

/// One chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatState {
    /// Its messages, in the order in which they were read.
    pub messages: Vec<StoredMessage>,
    /// Stored numbers that can be derived from other data.
    pub counters: Vec<Counter>,
    /// The version of its context snapshot, zero where there is none.
    pub context: u64,
}

/// A message at its position.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Its sequence.
    pub sequence: u64,
    /// Its id.
    pub event_id: String,
    /// The hash of its body.
    pub hash: String,
}

/// A stored number, and its value derived from the records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// The stored value.
    pub kept: u64,
    /// The derived value.
    pub recomputed: u64,
}
