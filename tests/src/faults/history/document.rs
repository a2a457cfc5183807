use serde::{Deserialize, Serialize};

use super::Outcome;

/// A write of a document.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DocumentWrite {
    /// The path of the document.
    pub path: String,
    /// What is written.
    pub write: Writing,
    /// The result: of an append, where its line begins.
    pub outcome: Outcome<u64>,
}

/// What a client writes to a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Writing {
    /// A line is appended to a log of all clients.
    Append {
        /// The line, without its end.
        line: String,
    },
    /// A number takes the place of the one before it, in a document that all clients write in the version that they have read.
    Count {
        /// The number.
        number: u64,
    },
    /// A document that only this client writes gets a content.
    Put {
        /// The content begins with this, and no other does.
        id: String,
    },
    /// It is deleted.
    Delete,
}
