use serde::{Deserialize, Serialize};

use super::Outcome;

/// An append of one or more messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Append {
    /// The chat.
    pub chat: String,
    /// The messages, in order.
    pub messages: Vec<Sent>,
    /// Its result.
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
    /// One entry for each message, in order.
    pub messages: Vec<Placed>,
}

/// The position of a stored message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Its sequence.
    pub sequence: u64,
    /// Whether it was already stored.
    pub duplicate: bool,
}
