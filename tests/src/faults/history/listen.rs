use serde::{Deserialize, Serialize};

use super::{Moment, Outcome, StoredMessage};

/// The messages that a subscriber received: a piece of a stream, or all of it.
///
/// The pieces of one subscriber are contiguous: each begins where the one before ended, also across
/// broken streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listen {
    /// The chat.
    pub chat: String,
    /// The sequence of the last message it had before, -1 for none.
    pub after: i64,
    /// Since when it has been subscribed or trying to, without leaving by itself.
    pub since: Moment,
    /// The messages it received, in the order of arrival.
    pub told: Vec<Told>,
    /// What ended the stream, unless the subscriber ended it or it continues.
    pub outcome: Outcome<()>,
}

/// A message that a subscriber received.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// The time of arrival.
    pub at: Moment,
    /// Its sequence.
    #[serde(flatten)]
    pub message: StoredMessage,
}
