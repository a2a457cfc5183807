use serde::Deserialize;
use serde_json::Value;

/// What came of an append.
#[derive(Debug, Deserialize)]
pub struct Append {
    /// The chat's counter after it.
    pub last_sequence: u64,
    /// One for each message, in their order.
    pub messages: Vec<Appended>,
}

/// What came of one message.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Appended {
    /// The id it has.
    pub event_id: String,
    /// The sequence it has.
    pub sequence: u64,
    /// Whether the chat had it already.
    pub duplicate: bool,
}

/// A page of messages.
#[derive(Debug, Deserialize)]
pub struct MessagePage {
    /// The chat's counter.
    pub last_sequence: u64,
    /// The messages, oldest first.
    pub messages: Vec<Value>,
    /// Whether there are later ones.
    pub has_more: bool,
}

/// A conversation in a dialect.
#[derive(Debug, Deserialize)]
pub struct History {
    /// The messages, oldest first.
    pub messages: Vec<Value>,
    /// What the dialect has no place for.
    pub dropped: Vec<Dropped>,
    /// What had to be changed to fit.
    #[serde(default)]
    pub repaired: Vec<Repaired>,
}

/// A message that was changed.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Repaired {
    /// Its sequence.
    pub sequence: u64,
}

/// A message that was left out.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Dropped {
    /// Its sequence.
    pub sequence: u64,
    /// Why, as a word.
    pub reason: String,
}
