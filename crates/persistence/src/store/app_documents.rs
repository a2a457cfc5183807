use std::collections::BTreeSet;
use std::ops::Range;

use async_trait::async_trait;
use futures::stream::BoxStream;
use records::{AppId, ChatId, DocumentHead, DocumentPath, NewDocument, Scope};

use super::{Outcome, Written};
use crate::StoreError;

/// Stores the documents of an app: contents under paths, for what orchestrators keep besides messages.
///
/// In a document of a chat the rights are those in the chat. A document of no chat has the rights of an
/// [assistant](super::Assistants): its owner has every permission that they have in their chats, its team reads it if its
/// visibility is [`Team`](records::Visibility::Team), and every user of the app if it is open. For a caller who may not read it
/// a document does not exist: [`DocumentNotFound`](StoreError::DocumentNotFound). A write by one who may only read it is
/// [`DocumentForbidden`](StoreError::DocumentForbidden), and a path that belongs to a document which the caller may not read is
/// [`DocumentTaken`](StoreError::DocumentTaken).
///
/// The entity tag of `if_match` of the scope is [`DocumentHead::entity_tag`]; a write of a document that has another by then is
/// [`DocumentChanged`](StoreError::DocumentChanged). Documents are no part of the conversation: they wake no subscriber of a
/// chat, and a write takes no turn in its chat and needs no lease.
#[async_trait]
pub trait AppDocuments: Send + Sync {
    /// Stores a content in place of that of the document, or creates the document. With `only_new` a document that exists is
    /// [`DocumentChanged`](StoreError::DocumentChanged).
    ///
    /// A put that states its `write_id` is safe to repeat: it is recognised until [`AppendCondition::RECOGNISED`] other writes have followed
    /// it, and undoes none of them. One without is recognised by its content: a document that has this content stays as it
    /// is, whatever the write depends on, so that of two writers of the same content none is refused.
    async fn put_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: NewDocument,
        condition: PutCondition,
    ) -> Result<Written<DocumentHead>, StoreError>;

    /// Appends to the content of a document, or creates the document. Its cost does not grow with the document. The media type
    /// and the lifetime only count for a document that is created.
    ///
    /// An append that states its `write_id` is safe to repeat: it is recognised until [`AppendCondition::RECOGNISED`] others have
    /// followed it. One that states its `offset` is refused unless the content ends there
    /// ([`DocumentOffset`](StoreError::DocumentOffset)), and is safe to repeat at any time: if the content has these bytes there,
    /// it was made.
    async fn append_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: NewDocument,
        condition: AppendCondition,
    ) -> Result<AppendedDocument, StoreError>;

    /// Returns a document with a part of its content, at most [`DocumentRange::MAX_BYTES`] of it; `None` if there is none that the caller may
    /// read. A range that begins after the end is empty.
    async fn read_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        range: DocumentRange,
    ) -> Result<Option<DocumentContent>, StoreError>;

    /// Deletes a document for good. Returns whether this call has deleted one.
    async fn delete_document(&self, scope: &Scope, path: &DocumentPath)
    -> Result<bool, StoreError>;

    /// Lists documents by path: those of a chat if the filter names one, and otherwise those in which the caller has the
    /// permission of the scope and which they find. Only callers who reach every document list those of chats together, without
    /// those of the chats that they do not find, such as deleted ones.
    ///
    /// A page ends before `limit` after [`DocumentPage::BYTES`] of contents. It examines more documents than its `limit`, but not
    /// any number: among those of deleted chats it may be short, or empty, and still have a next one.
    async fn list_documents(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
        after: Option<&DocumentPath>,
    ) -> Result<DocumentPage, StoreError>;

    /// Deletes the first documents of the same list, at most `limit`, all together. Safe to repeat: what is deleted again is the
    /// rest. The documents of a chat that is deleted before they are stay, and come back with it.
    async fn delete_documents(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
    ) -> Result<DeletedDocuments, StoreError>;

    /// Lists the namespaces of the same documents below that of the filter, at most `depth` names below it. A page has each once,
    /// and a later page may have it again. It ends after [`NamespacePage::EXAMINED`], and may be empty then.
    async fn list_namespaces(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        depth: usize,
        limit: usize,
        after: Option<&DocumentPath>,
    ) -> Result<NamespacePage, StoreError>;

    /// Streams the changes of the documents of all apps, made by any process, from the first poll on.
    ///
    /// This stream is for the process itself, and takes no scope. It never ends and survives every failure of the database.
    /// Between [`Began`](DocumentChange::Began) and [`Lost`](DocumentChange::Lost) every change is delivered once, the changes
    /// of a document in order, when they can no longer be rolled back.
    fn document_changes(&self) -> BoxStream<'static, DocumentChange>;
}

/// A notification in a stream of changes of documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DocumentChange {
    /// From here on every change is delivered. Earlier changes may be missing.
    Began,
    /// Changes are not delivered until the next [`Began`](Self::Began).
    Lost,
    /// A document was created, replaced or appended to.
    Written {
        /// The app of the document.
        app_id: AppId,
        /// Its path.
        path: DocumentPath,
        /// Its version after the write.
        version: u64,
    },
    /// A document was deleted, by a call, with its chat or its owner, or because it has expired.
    Deleted {
        /// The app of the document.
        app_id: AppId,
        /// Its path.
        path: DocumentPath,
    },
}

/// What a put depends on, and how it is recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PutCondition {
    /// Whether there must be no document.
    pub only_new: bool,
    /// The id of the put, if it has one.
    pub write_id: Option<String>,
}

impl PutCondition {
    /// There must be no document.
    pub const NEW: Self = Self { only_new: true, write_id: None };
}

/// What an append depends on, and how it is recognised.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AppendCondition {
    /// Where the content must end.
    pub offset: Option<u64>,
    /// The id of the append, if it has one.
    pub write_id: Option<String>,
}

impl AppendCondition {
    /// How many writes of a document are recognised by their ids when they are repeated: the newest.
    pub const RECOGNISED: usize = 64;
}

/// What an append has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AppendedDocument {
    /// Where the appended bytes begin.
    pub offset: u64,
    /// The size of the content after the append; of a repeated one, now.
    pub size: u64,
    /// The entity tag of the document, in the same way.
    pub entity_tag: String,
    /// Whether this call has appended, or an earlier one.
    pub outcome: Outcome,
}

/// A part of a content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DocumentRange {
    /// No byte: only what is known besides the content.
    Nothing,
    /// From this byte, so many bytes.
    From(u64, u64),
    /// The last bytes, so many.
    Last(u64),
}

impl DocumentRange {
    /// The most bytes of a content that are read at once.
    pub const MAX_BYTES: u64 = 8 << 20;

    /// Returns the bytes of a content of this size.
    pub(crate) fn within(self, size: u64) -> Range<u64> {
        match self {
            Self::Nothing => size..size,
            Self::From(from, count) => {
                let from = from.min(size);
                from..from.saturating_add(count.min(Self::MAX_BYTES)).min(size)
            }
            Self::Last(count) => size - count.min(Self::MAX_BYTES).min(size)..size,
        }
    }
}

/// A document with a part of its content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DocumentContent {
    /// The document.
    pub head: DocumentHead,
    /// Where the part begins.
    pub offset: u64,
    /// The part.
    pub content: Vec<u8>,
}

/// Which documents to list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentFilter {
    /// Only documents within this namespace.
    pub namespace: Option<DocumentPath>,
    /// Only documents of this chat.
    pub chat_id: Option<ChatId>,
    /// Only documents of this person.
    pub user_id: Option<records::UserId>,
    /// Whether to read the contents, too.
    pub with_content: bool,
}

impl DocumentFilter {
    /// Returns whether a document is one of the list, as far as its rights do not decide.
    pub(crate) fn admits(&self, head: &DocumentHead) -> bool {
        self.namespace.as_ref().is_none_or(|namespace| head.path.is_within(namespace))
            && (self.chat_id.is_none() || self.chat_id == head.binding.chat_id)
            && (self.user_id.is_none() || self.user_id == head.binding.user_id)
    }
}

/// A page of documents.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DocumentPage {
    /// The documents, each with its content if that was asked for and it is at most [`LISTED_BYTES`](Self::LISTED_BYTES).
    pub documents: Vec<(DocumentHead, Option<Vec<u8>>)>,
    /// The position of the next page, if there is one.
    pub next: Option<DocumentPath>,
    bytes: usize,
}

impl DocumentPage {
    /// The bytes of contents after which a page ends.
    pub const BYTES: usize = 4 << 20;
    /// The largest content that a list has.
    pub const LISTED_BYTES: u64 = 1 << 20;

    /// Returns whether the page has room for the next document with a content of this size, or ends it before.
    pub(crate) fn has_room(&mut self, limit: usize, bytes: usize) -> bool {
        let is_full = self.documents.len() >= limit || self.bytes + bytes > Self::BYTES;
        if is_full && let Some((last, _)) = self.documents.last() {
            self.next = Some(last.path.clone());
            return false;
        }
        self.bytes += bytes;
        true
    }
}

/// A page of namespaces.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NamespacePage {
    /// The namespaces.
    pub namespaces: BTreeSet<DocumentPath>,
    /// The position of the next page, if there may be one: a path.
    pub next: Option<DocumentPath>,
    examined: usize,
    last: Option<DocumentPath>,
}

impl NamespacePage {
    /// The most paths that are examined for a page.
    pub const EXAMINED: usize = 10_000;

    /// Adds the namespace of the next path, or ends the page before it. Returns whether the page goes on.
    pub(crate) fn add(
        &mut self,
        path: DocumentPath,
        within: Option<&DocumentPath>,
        depth: usize,
        limit: usize,
    ) -> bool {
        let namespace = path.namespace_within(within, depth);
        let is_new = namespace.as_ref().is_some_and(|it| !self.namespaces.contains(it));
        if self.examined == Self::EXAMINED || (is_new && self.namespaces.len() == limit) {
            self.next = self.last.take();
            return false;
        }
        self.examined += 1;
        self.last = Some(path);
        self.namespaces.extend(namespace);
        true
    }
}

/// What a deletion by a filter has done.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeletedDocuments {
    /// How many documents it has deleted.
    pub deleted: u64,
    /// Whether there may be more.
    pub has_more: bool,
}
