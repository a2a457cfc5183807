use serde::{Deserialize, Serialize};

use super::{Moment, Outcome, StoredMessage};

/// What a subscriber was told: a piece of a stream, or all of it.
///
/// The pieces of one subscriber follow one another: each begins where the one before has ended, also
/// over streams that broke.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listen {
    /// The chat.
    pub chat: String,
    /// The sequence of the last message it held before, -1 for none.
    pub after: i64,
    /// Since when it has wanted to be told, without leaving of its own accord.
    pub since: Moment,
    /// The messages it was told, in the order in which they came.
    pub told: Vec<Told>,
    /// What ended the stream, unless the subscriber did or it goes on.
    pub outcome: Outcome<()>,
}

/// A message that a subscriber was told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Told {
    /// When.
    pub at: Moment,
    /// Which.
    #[serde(flatten)]
    pub message: StoredMessage,
}
