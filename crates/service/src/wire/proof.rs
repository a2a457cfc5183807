use persistence::{Checkpoint, Inclusion, MessageProof};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use super::values;

/// Whether a message is what was signed.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MessageProof)]
pub(crate) struct MessageProofResponse {
    /// `signed`, `unsigned` or `broken`.
    #[schema(value_type = values::Verdict)]
    verdict: &'static str,
    /// The signed state of the chat; null if it has none yet.
    checkpoint: Option<CheckpointResponse>,
    /// What leads from the message to the root of the checkpoint; null unless the message is signed.
    inclusion: Option<InclusionResponse>,
}

/// The signed state of the messages of a chat.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Checkpoint)]
pub(crate) struct CheckpointResponse {
    /// How many commitments there are: one for each message, and one for each change of a message.
    #[schema(example = 312)]
    commitments: u64,
    /// How many messages the chat had.
    #[schema(example = 300)]
    messages: u64,
    /// The revision up to which changes of messages are signed.
    #[schema(example = 12)]
    revision: i64,
    /// The hash over all commitments: SHA-256, in hexadecimal digits.
    root: String,
    signed_at: Time,
    /// All of this, the app and the chat as a JSON Web Signature (RFC 7515) of Ed25519.
    signed: String,
}

/// What leads from a message to the root of a checkpoint. Hashes are SHA-256 in hexadecimal digits.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = MessageInclusion)]
pub(crate) struct InclusionResponse {
    /// The message as JSON, as it was committed to. The commitment is the hash of the salt and of this text.
    statement: String,
    /// 16 random bytes in hexadecimal digits.
    salt: String,
    /// How often the message was changed.
    #[schema(example = 0)]
    changes: u32,
    /// The place of the commitment in its block.
    #[schema(example = 5)]
    index: u64,
    /// How many commitments the block has.
    #[schema(example = 256)]
    block_size: u64,
    /// The hashes beside the way from the commitment to the root of its block (RFC 9162, section 2.1.3).
    path: Vec<String>,
    /// The hash of the chain before the block.
    before: String,
    /// The roots of the blocks behind it.
    after: Vec<String>,
}

impl From<MessageProof> for MessageProofResponse {
    fn from(proof: MessageProof) -> Self {
        Self {
            verdict: proof.verdict.as_str(),
            checkpoint: proof.checkpoint.map(Into::into),
            inclusion: proof.inclusion.map(Into::into),
        }
    }
}

impl From<Checkpoint> for CheckpointResponse {
    fn from(checkpoint: Checkpoint) -> Self {
        Self {
            commitments: checkpoint.commitments,
            messages: checkpoint.messages,
            revision: checkpoint.revision,
            root: checkpoint.root_hex(),
            signed_at: checkpoint.signed_at.into(),
            signed: checkpoint.signed,
        }
    }
}

impl From<Inclusion> for InclusionResponse {
    fn from(inclusion: Inclusion) -> Self {
        let Inclusion { statement, salt, changes, index, block_size, path, before, after } =
            inclusion;
        Self { statement, salt, changes, index, block_size, path, before, after }
    }
}
