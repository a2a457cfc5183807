//! The documents of apps: one stored document for each, with the end of its content, and parts with the rest.
//!
//! An append adds to the end, the *tail*, in one update. When the tail is full, one transaction moves it to a part; so the cost of
//! an append does not grow with the content. A content that is put is stored under a new `content_id`, so that a reader never
//! takes parts of two contents for one.

mod changes;
mod content;
mod content_check;
mod document;
mod list;
mod listed;

pub(crate) use content_check::ContentCheck;
pub(crate) use document::{
    PartDocument, ReadDocument, StoredDocument, stored_document, stored_part,
};

use async_trait::async_trait;
use bson::{Document, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use futures::stream::BoxStream;
use mongodb::options::ReturnDocument;
use records::{DocumentHead, DocumentPath, NewDocument, Scope};

use self::document::document_key;
use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{NEWEST_VERSION, counter, encode};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::app_document::{
    Append, KeptDocument, Put, answer, append, check_creates, check_permitted, check_seen, put,
    taken, written,
};
use crate::store::{
    AppDocuments, AppendCondition, AppendedDocument, DeletedDocuments, DocumentChange,
    DocumentContent, DocumentFilter, DocumentPage, DocumentRange, NamespacePage, Outcome,
    PutCondition, Written,
};

/// The largest tail, in bytes.
const TAIL_BYTES: usize = 64 << 10;
/// The most appends that a tail consists of.
const TAIL_PIECES: usize = 512;
/// The largest part, in bytes.
const PART_BYTES: usize = 256 << 10;

/// A write of a document, with the ids that it keeps through all attempts.
#[derive(Debug)]
struct DocumentWrite {
    scope: Scope,
    path: DocumentPath,
    new: NewDocument,
    /// The id of a content that the write creates, by which its retry recognises it.
    content_id: String,
}

#[async_trait]
impl AppDocuments for MongoStore {
    async fn put_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: NewDocument,
        condition: PutCondition,
    ) -> Result<Written<DocumentHead>, StoreError> {
        self.observe(Call::PutDocument, None, async {
            let write = self.document_write(scope, path, new)?;
            self.write(|call| async move {
                call.transact_without_chat(|tx| call.put_round(tx, &write, &condition)).await
            })
            .await
        })
        .await
    }

    async fn append_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: NewDocument,
        condition: AppendCondition,
    ) -> Result<AppendedDocument, StoreError> {
        self.observe(Call::AppendDocument, None, async {
            let write = self.document_write(scope, path, new)?;
            let minted = condition.write_id.is_none().then(|| self.inner.ids.mint("append_"));
            self.write(|call| async move {
                let round = |tx| call.append_round(tx, &write, &condition, minted.as_deref());
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }

    async fn read_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        range: DocumentRange,
    ) -> Result<Option<DocumentContent>, StoreError> {
        self.observe(Call::ReadDocument, None, async {
            self.read(|| self.document_content(scope, path, range)).await
        })
        .await
    }

    async fn delete_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
    ) -> Result<bool, StoreError> {
        self.observe(Call::DeleteDocument, None, async {
            let (scope, path) = (scope.unfenced(), path.clone());
            self.write(|call| async move {
                call.transact_without_chat(|tx| call.delete_document_round(tx, &scope, &path)).await
            })
            .await
        })
        .await
    }

    async fn list_documents(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
        after: Option<&DocumentPath>,
    ) -> Result<DocumentPage, StoreError> {
        self.observe(Call::ListDocuments, None, async {
            self.read(|| self.documents_page(scope, filter, limit, after)).await
        })
        .await
    }

    async fn delete_documents(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
    ) -> Result<DeletedDocuments, StoreError> {
        self.observe(Call::DeleteDocuments, None, async {
            let (scope, filter) = (scope.unfenced(), filter.clone());
            self.write(|call| async move {
                let round = |tx| call.delete_listed_round(tx, &scope, &filter, limit);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }

    async fn list_namespaces(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        depth: usize,
        limit: usize,
        after: Option<&DocumentPath>,
    ) -> Result<NamespacePage, StoreError> {
        self.observe(Call::ListNamespaces, None, async {
            self.read(|| self.namespaces_page(scope, filter, depth, limit, after)).await
        })
        .await
    }

    fn document_changes(&self) -> BoxStream<'static, DocumentChange> {
        self.watch_documents()
    }
}

impl MongoStore {
    fn document_write(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: NewDocument,
    ) -> Result<DocumentWrite, StoreError> {
        new.check()?;
        let content_id = self.inner.ids.mint("content_");
        Ok(DocumentWrite { scope: scope.unfenced(), path: path.clone(), new, content_id })
    }

    async fn put_round(
        &self,
        tx: Transaction<'_>,
        write: &DocumentWrite,
        condition: &PutCondition,
    ) -> Result<Round<Written<DocumentHead>>, Failure> {
        let DocumentWrite { scope, path, new, content_id } = write;
        let now = self.inner.clock.now();
        let replaced = self.document_to_write(write, now).await?;
        let stored = replaced.as_ref().and_then(|it| it.existing_at(now));
        if !tx.is_first() {
            let head = replaced.as_ref().map(|it| &it.kept.head);
            if let Some(ours) = head.filter(|head| head.content_id == *content_id) {
                return Ok(Round::Done(written(ours.clone())));
            }
            tx.attempt().note_nothing_applied();
        }
        let kept = match put(scope, path, new, condition, stored, (now, content_id))? {
            Put::Keep(head) => return Ok(Round::Done(Written::found(head, false))),
            Put::Store(kept) => kept,
        };
        let is_stored = self.replace_content(&tx, replaced.as_ref(), &kept, &new.content).await?;
        Ok(Round::of(is_stored.then(|| written(kept.head))))
    }

    async fn append_round(
        &self,
        tx: Transaction<'_>,
        write: &DocumentWrite,
        condition: &AppendCondition,
        minted: Option<&str>,
    ) -> Result<Round<AppendedDocument>, Failure> {
        let DocumentWrite { scope, path, new, content_id } = write;
        let write_id = minted.or(condition.write_id.as_deref()).unwrap_or_default();
        let now = self.inner.clock.now();
        let existing = self.document_to_write(write, now).await?;
        let stored = existing.as_ref().and_then(|it| it.existing_at(now));
        let decision = append(scope, path, new, condition, write_id, stored, (now, content_id));
        if !tx.is_first() && !matches!(decision, Ok(Append::MadeBefore(_) | Append::Replaced)) {
            tx.attempt().note_nothing_applied();
        }
        let (kept, existing) = match (decision?, existing) {
            // No other call has a minted id, and what may have been applied was sent by an earlier attempt.
            (Append::MadeBefore(offset), Some(existing)) => {
                let is_ours = minted.is_some() || tx.attempt().may_have_applied();
                let outcome = Outcome::of_found(is_ours);
                let done = self.repeated_append(&existing, offset, &new.content).await?;
                let done = done.ok_or_else(|| StoreError::AppendConflict(path.clone()))?;
                return Ok(Round::Done(AppendedDocument { outcome, ..done }));
            }
            (Append::Replaced, Some(existing)) => {
                let outcome =
                    Outcome::of_found(minted.is_some() || tx.attempt().may_have_applied());
                let head = &existing.kept.head;
                return Ok(Round::Done(answer(head, head.size, outcome)));
            }
            (Append::DoneIfStored(offset), Some(existing)) => {
                let size = existing.kept.head.size;
                let done = self.repeated_append(&existing, offset, &new.content).await?;
                let other = || StoreError::DocumentOffset { path: path.clone(), size };
                return Ok(Round::Done(done.ok_or_else(other)?));
            }
            (Append::Create(kept), replaced) => {
                let is_stored =
                    self.replace_content(&tx, replaced.as_ref(), &kept, &new.content).await?;
                let answer = answer(&kept.head, 0, Outcome::Stored);
                return Ok(Round::of(is_stored.then_some(answer)));
            }
            (Append::Add(kept), Some(existing)) => (kept, existing),
            (
                Append::MadeBefore(_) | Append::Replaced | Append::DoneIfStored(_) | Append::Add(_),
                None,
            ) => return Ok(Round::Again),
        };
        let is_full = existing.tail.len() + new.content.len() > TAIL_BYTES
            || existing.tail_pieces >= TAIL_PIECES;
        if is_full {
            let offset = existing.kept.head.size;
            let is_stored = self.move_tail(&tx, existing, &kept, &new.content).await?;
            let answer = answer(&kept.head, offset, Outcome::Stored);
            return Ok(Round::of(is_stored.then_some(answer)));
        }
        let is_exact = condition.offset.is_some() || scope.if_match.is_some();
        let filter = append_filter(&existing, write_id, new.content.len(), is_exact);
        let update = append_update(&kept, write_id, &new.content);
        let updating = self.inner.documents.find_one_and_update(filter, update);
        let updating = updating.projection(doc! { "size": 1, "version": 1 });
        let updated = updating.return_document(ReturnDocument::After).await?;
        let Some(updated) = updated else { return Ok(Round::Again) };
        let number = |field| updated.get_i64(field).ok().and_then(|it| u64::try_from(it).ok());
        // Others may have appended since the document was read.
        let size = number("size").unwrap_or(kept.head.size);
        let version = number("version").unwrap_or(kept.head.version);
        let head = DocumentHead { size, version, ..kept.head };
        let offset = size.saturating_sub(new.content.len() as u64);
        Ok(Round::Done(answer(&head, offset, Outcome::Stored)))
    }

    async fn delete_document_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        path: &DocumentPath,
    ) -> Result<Round<bool>, Failure> {
        let Some(stored) = self.document(scope, path).await? else {
            // An earlier attempt may have deleted it.
            return Ok(Round::Done(tx.attempt().may_have_applied()));
        };
        let head = &stored.kept.head;
        // Otherwise it would be back with its chat.
        if !self.finds_document(&scope.finding_deleted(), head).await? {
            return Ok(Round::Done(false));
        }
        check_seen(scope, head)?;
        let filter = version_filter(head);
        let deleted = if stored.tail_from == 0 {
            self.inner.documents.delete_one(filter).await?.deleted_count
        } else {
            tx.begin().await?;
            let delete = self.inner.documents.delete_one(filter);
            let deleted = delete.session(&mut *tx.session().await?).await?.deleted_count;
            self.delete_parts(&tx, head).await?;
            deleted
        };
        Ok(Round::of((deleted > 0).then_some(true)))
    }

    /// Returns the document under the path of a write, also one that has expired. Refuses a caller who may not write it.
    async fn document_to_write(
        &self,
        write: &DocumentWrite,
        now: DateTime<Utc>,
    ) -> Result<Option<ReadDocument>, Failure> {
        self.require(Shape::Documents).await?;
        let stored = self.document(&write.scope, &write.path).await?;
        let checked = match stored.as_ref().and_then(|it| it.existing_at(now)) {
            Some(found) => self.check_document(&write.scope, &found.head).await,
            None => return self.check_may_create(write, now).await.map(|()| stored),
        };
        match checked {
            // One who could not create a document either does not learn that the path is taken.
            Err(Failure::Decided(refusal @ StoreError::DocumentNotFound(_))) => {
                self.check_may_create(write, now).await?;
                Err(taken(refusal).into())
            }
            checked => checked.map(|()| stored),
        }
    }

    /// Refuses a caller who may not create a document.
    async fn check_may_create(
        &self,
        write: &DocumentWrite,
        now: DateTime<Utc>,
    ) -> Result<(), Failure> {
        let DocumentWrite { scope, path, new, .. } = write;
        let Some(chat_id) = &new.binding.chat_id else {
            return Ok(check_creates(scope, path, new, now)?);
        };
        // A purge removes once more what calls under way have stored since, so the chat need not be part of the write.
        self.session_within(scope, chat_id, doc! { "_id": 1 }).await.map(drop)
    }

    /// Returns whether the caller finds a document. Refuses one who may read it and lacks the permission of the scope.
    pub(super) async fn finds_document(
        &self,
        scope: &Scope,
        head: &DocumentHead,
    ) -> Result<bool, Failure> {
        match self.check_document(scope, head).await {
            Err(Failure::Decided(StoreError::DocumentNotFound(_))) => Ok(false),
            checked => checked.map(|()| true),
        }
    }

    /// Refuses a caller without the permission of the scope in a document.
    async fn check_document(&self, scope: &Scope, head: &DocumentHead) -> Result<(), Failure> {
        let Some(chat_id) = &head.binding.chat_id else { return Ok(check_permitted(scope, head)?) };
        match self.session_within(&scope.unfenced(), chat_id, doc! { "_id": 1 }).await {
            Err(Failure::Decided(StoreError::ChatNotFound(_))) => {
                Err(StoreError::DocumentNotFound(head.path.clone()).into())
            }
            checked => checked.map(drop),
        }
    }

    /// Returns a document, also one that has expired.
    async fn document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
    ) -> Result<Option<ReadDocument>, Failure> {
        let one = doc! { "_id": document_key(&scope.app_id, path) };
        let found: Option<RawDocumentBuf> = self.inner.documents.find_one(one).await?;
        Ok(found.map(|raw| stored_document(&raw)).transpose()?)
    }
}

/// Returns the filter for a document in a version.
fn version_filter(head: &DocumentHead) -> Document {
    doc! {
        "_id": document_key(&head.app_id, &head.path),
        "content_id": &head.content_id,
        "version": counter(head.version),
        "schema_version": { "$lte": NEWEST_VERSION },
    }
}

/// Returns the filter for a document whose tail has room for an append that is not in it yet. Others may have appended since it
/// was read, unless the append is to be exactly at its end.
fn append_filter(stored: &ReadDocument, write_id: &str, bytes: usize, is_exact: bool) -> Document {
    let head = &stored.kept.head;
    let mut filter = version_filter(head);
    if !is_exact {
        let room = stored.tail_from + (TAIL_BYTES - bytes) as u64;
        filter.remove("version");
        filter.insert("tail_from", counter(stored.tail_from));
        filter.insert(
            "size",
            doc! { "$lte": counter(room.min(DocumentHead::MAX_BYTES - bytes as u64)) },
        );
    }
    filter.insert("appends.write_id", doc! { "$ne": write_id });
    filter
}

fn append_update(kept: &KeptDocument, write_id: &str, content: &[u8]) -> Document {
    let bytes = counter(content.len() as u64);
    let newest = counter(AppendCondition::RECOGNISED as u64);
    let appended = doc! { "write_id": write_id, "bytes": bytes };
    doc! {
        "$push": {
            "tail": bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: content.to_vec() },
            "appends": { "$each": [appended], "$slice": -newest },
        },
        "$inc": { "size": bytes, "version": 1_i64 },
        "$max": { "last_updated_at": bson::DateTime::from_chrono(kept.head.last_updated_at) },
        "$unset": { "digest": "" },
    }
}

/// Encodes the document of a content, of which the tail is stored with it.
fn encoded(kept: &KeptDocument, tail: &[u8]) -> Result<RawDocumentBuf, Failure> {
    encode(&StoredDocument::new(kept, tail))
}

/// Returns whether a document was inserted; it is not if there is one.
fn inserted<T>(result: Result<T, mongodb::error::Error>) -> Result<bool, Failure> {
    match result {
        Ok(_) => Ok(true),
        Err(error) if is_duplicate_key(&error) => Ok(false),
        Err(error) => Err(error.into()),
    }
}
