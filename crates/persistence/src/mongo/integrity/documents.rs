use bson::{Document, RawDocumentBuf, doc};
use records::{AppId, ChatId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::integrity::{Commitment, stored};
use crate::mongo::collection_names::INTEGRITY_BLOCKS;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{SCHEMA_VERSION, counter};

/// The fields that updates name.
pub(super) const SIGNED: &str = "signed";
pub(super) const OPEN: &str = "open";
pub(super) const COMMITMENTS: &str = "commitments";

/// The chain of a chat: its signed state, and the block that is not full.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChainDocument {
    #[serde(rename = "_id")]
    pub(super) chat_id: ChatId,
    pub(super) app_id: AppId,
    /// The checkpoint, as a JSON Web Signature.
    pub(super) signed: String,
    /// The commitments of the last block, unless it is full.
    #[serde(with = "serde_bytes")]
    pub(super) open: Vec<u8>,
    pub(super) schema_version: i64,
}

/// A full block of a chain.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct ChainBlockDocument {
    #[serde(rename = "_id")]
    pub(super) id: BlockKey,
    pub(super) app_id: AppId,
    #[serde(with = "serde_bytes")]
    pub(super) commitments: Vec<u8>,
    pub(super) schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct BlockKey {
    pub(super) chat_id: ChatId,
    /// The number of the block, from 0.
    pub(super) block: u64,
}

impl BlockKey {
    pub(super) fn id(&self) -> Document {
        doc! { "chat_id": self.chat_id.as_str(), "block": counter(self.block) }
    }
}

impl ChainBlockDocument {
    pub(super) fn new(
        (app_id, chat_id): (&AppId, &ChatId),
        block: u64,
        commitments: &[Commitment],
    ) -> Self {
        Self {
            id: BlockKey { chat_id: chat_id.clone(), block },
            app_id: app_id.clone(),
            commitments: stored(commitments),
            schema_version: SCHEMA_VERSION,
        }
    }

    pub(super) fn read(raw: &RawDocumentBuf) -> Result<Self, StoreError> {
        read_document(INTEGRITY_BLOCKS, raw)
    }
}
