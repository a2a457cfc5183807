use serde::Deserialize;
use serde_json::Value;

/// The result of an append.
#[derive(Debug, Deserialize)]
pub struct Append {
    /// The chat's counter after the append.
    pub last_sequence: u64,
    /// One result for each message, in order.
    pub messages: Vec<Appended>,
}

/// The result of one message of an append.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Appended {
    /// The id it has.
    pub event_id: String,
    /// The sequence it has.
    pub sequence: u64,
    /// Whether it was already stored.
    pub duplicate: bool,
}

/// A page of messages.
#[derive(Debug, Deserialize)]
pub struct MessagePage {
    /// The chat's counter.
    pub last_sequence: u64,
    /// The messages, oldest first.
    #[serde(rename = "data")]
    pub messages: Vec<Value>,
    /// Where the range continues; `None` if it does not.
    pub next_cursor: Option<String>,
}

/// A conversation in a dialect.
#[derive(Debug, Deserialize)]
pub struct History {
    /// The messages, oldest first.
    pub messages: Vec<Value>,
    /// The messages that the dialect cannot hold.
    pub dropped: Vec<Dropped>,
    /// The messages that were changed to fit.
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
    /// The reason, as a slug.
    pub reason: String,
}
