use serde::{Deserialize, Serialize};

use super::{Outcome, StoredMessage};

/// A read of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// The chat.
    pub chat: String,
    /// The sequence after which the page begins, -1 for the beginning; `None` for the newest.
    pub after: Option<i64>,
    /// The page.
    pub outcome: Outcome<Page>,
}

/// A page of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The chat's counter.
    pub last_sequence: u64,
    /// Whether there are further messages in the direction of reading.
    pub has_more: bool,
    /// The messages, oldest first.
    pub messages: Vec<StoredMessage>,
}

/// A read of a transcript, which has neither sequences nor ids.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The chat.
    pub chat: String,
    /// The ids in the content of the messages, oldest first.
    pub outcome: Outcome<Vec<String>>,
}

/// A chat in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The chat.
    pub chat: String,
    /// Its counter.
    pub last_sequence: u64,
}
