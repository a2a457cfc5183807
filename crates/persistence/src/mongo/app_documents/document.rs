use bson::{Bson, DateTime, Document, RawDocument, doc};
use records::{
    AppId, ChatId, DocumentBinding, DocumentHead, DocumentPath, TeamId, UserId, Visibility,
};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

use crate::StoreError;
use crate::mongo::collection_names::{DOCUMENT_PARTS, DOCUMENTS};
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_document;
use crate::rules::app_document::{ContentDigest, KeptAppend, KeptDocument};

/// A stored document, with the end of its content, the *tail*.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StoredDocument {
    #[serde(rename = "_id")]
    id: DocumentKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat_id: Option<ChatId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<UserId>,
    visibility: Visibility,
    team_id: Option<TeamId>,
    content_type: String,
    content_id: String,
    size: u64,
    version: u64,
    #[serde(default, skip_serializing_if = "Option::is_none", with = "serde_bytes")]
    digest: Option<ContentDigest>,
    appends: Vec<StoredAppend>,
    /// Where the tail begins: what is before it is in the parts.
    tail_from: u64,
    /// The tail, as it was appended.
    tail: Vec<ByteBuf>,
    created_at: DateTime,
    last_updated_at: DateTime,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<DateTime>,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct DocumentKey {
    app_id: AppId,
    path: DocumentPath,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredAppend {
    write_id: String,
    bytes: u64,
}

/// A part of a content. Parts follow one another without a gap.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PartDocument {
    #[serde(rename = "_id")]
    id: PartKey,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    chat_id: Option<ChatId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    user_id: Option<UserId>,
    pub(super) content: ByteBuf,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires_at: Option<DateTime>,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct PartKey {
    app_id: AppId,
    content_id: String,
    offset: u64,
}

/// A document as it was read.
#[derive(Debug)]
pub(crate) struct ReadDocument {
    pub(crate) kept: KeptDocument,
    pub(super) tail_from: u64,
    pub(super) tail: Vec<u8>,
    /// How many appends the tail consists of.
    pub(super) tail_pieces: usize,
}

impl ReadDocument {
    /// Returns the document, unless it has expired by then.
    pub(super) fn existing_at(&self, now: chrono::DateTime<chrono::Utc>) -> Option<&KeptDocument> {
        Some(&self.kept).filter(|kept| kept.head.exists_at(now))
    }
}

/// Returns the id of a document.
pub(super) fn document_key(app_id: &AppId, path: &DocumentPath) -> Document {
    doc! { "app_id": app_id.as_str(), "path": path.as_str() }
}

/// Returns the range of ids of the documents of an app within a namespace, after a path.
pub(super) fn keys_within(
    app_id: &AppId,
    namespace: Option<&DocumentPath>,
    after: Option<&DocumentPath>,
) -> Document {
    let key = |path: Bson| doc! { "app_id": app_id.as_str(), "path": path };
    // `0` follows `/`.
    let (first, end) = match namespace {
        Some(namespace) => (format!("{namespace}/").into(), format!("{namespace}0").into()),
        None => (Bson::from(""), Bson::MaxKey),
    };
    let mut range = doc! { "$gte": key(first), "$lt": key(end) };
    range.extend(after.map(|after| ("$gt".to_owned(), document_key(app_id, after).into())));
    range
}

/// Returns the range of ids of the parts of a content whose first byte is at one of these offsets.
pub(super) fn parts_between(app_id: &AppId, content_id: &str, from: i64, to: i64) -> Document {
    let key = |offset: i64| doc! { "app_id": app_id.as_str(), "content_id": content_id, "offset": offset };
    doc! { "_id": { "$gte": key(from), "$lt": key(to) } }
}

impl StoredDocument {
    /// Returns the document of a content of which the tail is stored with it.
    pub(super) fn new(kept: &KeptDocument, tail: &[u8]) -> Self {
        let head = &kept.head;
        Self {
            id: DocumentKey { app_id: head.app_id.clone(), path: head.path.clone() },
            chat_id: head.binding.chat_id.clone(),
            user_id: head.binding.user_id.clone(),
            visibility: head.binding.visibility,
            team_id: head.binding.team_id.clone(),
            content_type: head.content_type.clone(),
            content_id: head.content_id.clone(),
            size: head.size,
            version: head.version,
            digest: kept.digest,
            appends: kept.appends.iter().map(StoredAppend::from).collect(),
            tail_from: head.size - tail.len() as u64,
            tail: if tail.is_empty() { Vec::new() } else { vec![ByteBuf::from(tail)] },
            created_at: DateTime::from_chrono(head.created_at),
            last_updated_at: DateTime::from_chrono(head.last_updated_at),
            expires_at: head.expires_at.map(DateTime::from_chrono),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<&KeptAppend> for StoredAppend {
    fn from(append: &KeptAppend) -> Self {
        Self { write_id: append.write_id.clone(), bytes: append.bytes }
    }
}

impl From<StoredDocument> for ReadDocument {
    fn from(stored: StoredDocument) -> Self {
        let head = DocumentHead {
            app_id: stored.id.app_id,
            path: stored.id.path,
            binding: DocumentBinding {
                chat_id: stored.chat_id,
                user_id: stored.user_id,
                visibility: stored.visibility,
                team_id: stored.team_id,
            },
            content_type: stored.content_type,
            size: stored.size,
            content_id: stored.content_id,
            version: stored.version,
            created_at: stored.created_at.to_chrono(),
            last_updated_at: stored.last_updated_at.to_chrono(),
            expires_at: stored.expires_at.map(DateTime::to_chrono),
        };
        let appends = stored.appends.into_iter();
        let appends =
            appends.map(|StoredAppend { write_id, bytes }| KeptAppend { write_id, bytes });
        Self {
            kept: KeptDocument { head, digest: stored.digest, appends: appends.collect() },
            tail_from: stored.tail_from,
            tail_pieces: stored.tail.len(),
            tail: stored.tail.into_iter().flatten().collect(),
        }
    }
}

/// Returns the parts of a content that begins at an offset, each of at most `bytes`.
pub(super) fn parts<'a>(
    head: &'a DocumentHead,
    offset: u64,
    content: &'a [u8],
    bytes: usize,
) -> impl Iterator<Item = PartDocument> + 'a {
    content.chunks(bytes).enumerate().map(move |(index, chunk)| PartDocument {
        id: PartKey {
            app_id: head.app_id.clone(),
            content_id: head.content_id.clone(),
            offset: offset + (index * bytes) as u64,
        },
        chat_id: head.binding.chat_id.clone(),
        user_id: head.binding.user_id.clone(),
        content: ByteBuf::from(chunk),
        expires_at: head.expires_at.map(DateTime::from_chrono),
        schema_version: SCHEMA_VERSION,
    })
}

impl PartDocument {
    pub(super) fn offset(&self) -> u64 {
        self.id.offset
    }

    /// Returns whether the part goes with a document: with its chat, its owner and its end.
    pub(super) fn is_of(&self, head: &DocumentHead) -> bool {
        self.chat_id == head.binding.chat_id
            && self.user_id == head.binding.user_id
            && self.expires_at == head.expires_at.map(DateTime::from_chrono)
    }
}

/// Reads a document.
pub(crate) fn stored_document(raw: &RawDocument) -> Result<ReadDocument, StoreError> {
    read_document::<StoredDocument>(DOCUMENTS, raw).map(ReadDocument::from)
}

/// Reads a part of a content.
pub(crate) fn stored_part(raw: &RawDocument) -> Result<PartDocument, StoreError> {
    read_document(DOCUMENT_PARTS, raw)
}
