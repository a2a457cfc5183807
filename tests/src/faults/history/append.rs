use serde::{Deserialize, Serialize};

use super::Outcome;

/// An append of one or more messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Append {
    /// The chat.
    pub chat: String,
    /// The messages, in order.
    pub messages: Vec<Sent>,
    /// What came of it.
    pub outcome: Outcome<Answer>,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Its id, given by the client.
    pub event_id: String,
    /// The hash of its body.
    pub hash: String,
}

/// The acknowledgement of an append.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The chat's counter after it.
    pub last_sequence: u64,
    /// One for each message, in their order.
    pub messages: Vec<Placed>,
}

/// Where a message was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Its sequence.
    pub sequence: u64,
    /// Whether it was there already.
    pub duplicate: bool,
}
