use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What was there in the end, told twice.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FinalState {
    /// As the service tells it.
    pub served: State,
    /// As it lies in the store.
    pub stored: State,
}

/// All chats, by their ids.
pub type State = BTreeMap<String, ChatState>;

/// One chat.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ChatState {
    /// Its messages, in the order in which they were found.
    pub messages: Vec<StoredMessage>,
    /// Numbers that are kept beside what they are derived from.
    pub counters: Vec<Counter>,
    /// The version of its context snapshot, zero where there is none.
    pub context: u64,
}

/// A message at its place.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredMessage {
    /// Its sequence.
    pub sequence: u64,
    /// Its id.
    pub event_id: String,
    /// The hash of its body.
    pub hash: String,
}

/// A number that is kept, and what it is by the records that it is derived from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counter {
    /// Its name.
    pub name: String,
    /// What is kept.
    pub kept: u64,
    /// What it should be.
    pub recomputed: u64,
}
