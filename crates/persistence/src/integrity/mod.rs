//! Finds changes of messages that were made in the database without the service (decision 0075).
//!
//! A *commitment* is a digest of one message as the chat shows it, with a random salt. The commitments of a chat form a
//! *chain*, and a *checkpoint* is the signed root of it. The store keeps only commitments: no text, and nothing from which a
//! text could be guessed once its salt is gone.

mod chain;
mod checkpoint;
mod key;
mod statement;

pub(crate) use self::chain::{BLOCK, Chain, Commitment, InclusionPath, stored};
pub use self::checkpoint::Checkpoint;
pub(crate) use self::checkpoint::Covered;
pub(crate) use self::key::Tag;
pub use self::key::{IntegrityKeys, UnusableKey};
pub(crate) use self::statement::{Appended, appended_tag_input, statement, tag_input};

/// A SHA-256.
pub(crate) type Hash = [u8; 32];

/// What a chain proves about a message.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageProof {
    /// What was found.
    pub verdict: Verdict,
    /// The signed state of the chain; `None` if the chat has none yet.
    pub checkpoint: Option<Checkpoint>,
    /// What leads from the message to the root of the checkpoint; only with [`Verdict::Signed`].
    pub inclusion: Option<Inclusion>,
}

/// Whether a message is as it was signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Signed,
    /// It was stored or changed by a service, and is not signed yet.
    Unsigned,
    /// It differs from what was signed, and no service has changed it; or the chain itself was changed.
    Broken,
}

impl Verdict {
    /// Every verdict.
    pub const ALL: [Self; 3] = [Self::Signed, Self::Unsigned, Self::Broken];

    /// Returns the verdict as a stable word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Signed => "signed",
            Self::Unsigned => "unsigned",
            Self::Broken => "broken",
        }
    }
}

/// What leads from a message to the root of a chain. Every hash is SHA-256.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inclusion {
    /// The text that was committed: the message as JSON.
    pub statement: String,
    /// The salt, in hexadecimal digits. The commitment is the hash of the salt and the statement.
    pub salt: String,
    /// How often the message was changed since it was appended.
    pub changes: u32,
    /// The place of the commitment in its block.
    pub index: u64,
    /// How many commitments the block has.
    pub block_size: u64,
    /// The hashes beside the way from the commitment to the root of its block (RFC 6962, section 2.1.1).
    pub path: Vec<String>,
    /// The hash of the chain before the block.
    pub before: String,
    /// The roots of the blocks behind it.
    pub after: Vec<String>,
}
