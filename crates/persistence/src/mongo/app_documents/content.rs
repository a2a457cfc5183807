//! The content of documents: its parts, and its tail.

use std::ops::Range;

use bson::doc;
use futures::TryStreamExt as _;
use records::{DocumentHead, DocumentPath, Scope};

use super::document::{ReadDocument, parts, parts_between, stored_part};
use super::{PART_BYTES, TAIL_BYTES, encoded, inserted, version_filter};
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::DOCUMENTS;
use crate::mongo::documents::{counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;
use crate::rules::app_document::{KeptDocument, answer};
use crate::store::{AppendedDocument, DocumentContent, DocumentRange, Outcome};

/// How often a content is read that is replaced meanwhile.
pub(super) const MAX_READ_ATTEMPTS: usize = 8;

impl MongoStore {
    pub(super) async fn document_content(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        range: DocumentRange,
    ) -> Result<Option<DocumentContent>, Failure> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let Some(stored) = self.document(scope, path).await? else { return Ok(None) };
            let head = &stored.kept.head;
            if !self.finds_document(scope, head).await? || !head.exists_at(self.inner.clock.now()) {
                return Ok(None);
            }
            let range = range.within(head.size);
            if let Some(content) = self.content_of(&stored, range.clone()).await? {
                let head = stored.kept.head;
                return Ok(Some(DocumentContent { head, offset: range.start, content }));
            }
        }
        Err(incomplete(path))
    }

    /// Returns bytes of a content; `None` if it was replaced since the document was read.
    pub(super) async fn content_of(
        &self,
        stored: &ReadDocument,
        range: Range<u64>,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let ReadDocument { kept, tail_from, tail, .. } = stored;
        let head = &kept.head;
        let mut content = Vec::with_capacity(index(range.end - range.start));
        let in_parts = range.start..range.end.min(*tail_from);
        if in_parts.start < in_parts.end {
            // The part with the first byte begins at most as long before it as a part may be.
            let from = counter(in_parts.start) - counter(PART_BYTES as u64) + 1;
            let filter = parts_between(&head.app_id, &head.content_id, from, counter(in_parts.end));
            let mut found = self.inner.document_parts.find(filter).sort(doc! { "_id": 1 }).await?;
            let mut next = in_parts.start;
            while let Some(raw) = found.try_next().await? {
                let part = stored_part(&raw)?;
                let (begin, end) = (part.offset(), part.offset() + part.content.len() as u64);
                if end <= next {
                    continue;
                }
                let wanted =
                    index(next.saturating_sub(begin))..index(end.min(in_parts.end) - begin);
                if begin > next {
                    return Ok(None);
                }
                content.extend_from_slice(part.content.get(wanted).unwrap_or_default());
                next = end.min(in_parts.end);
            }
            if next < in_parts.end {
                return Ok(None);
            }
        }
        let in_tail = range.start.max(*tail_from)..range.end;
        if in_tail.start < in_tail.end {
            let wanted = index(in_tail.start - tail_from)..index(in_tail.end - tail_from);
            content.extend_from_slice(tail.get(wanted).unwrap_or_default());
        }
        Ok(Some(content))
    }

    /// Answers an append that states where it begins, if the content has its bytes there.
    pub(super) async fn repeated_append(
        &self,
        stored: &ReadDocument,
        offset: u64,
        appended: &[u8],
    ) -> Result<Option<AppendedDocument>, Failure> {
        let range = offset..offset + appended.len() as u64;
        let found = self.content_of(stored, range).await?;
        let found = found.ok_or(Failure::Overtaken("the content was replaced"))?;
        let answer = || answer(&stored.kept.head, offset, Outcome::Duplicate);
        Ok((found == appended).then(answer))
    }

    /// Stores a content in place of another, or of none. Returns whether nothing else was stored there meanwhile.
    pub(super) async fn replace_content(
        &self,
        tx: &Transaction<'_>,
        replaced: Option<&ReadDocument>,
        kept: &KeptDocument,
        content: &[u8],
    ) -> Result<bool, Failure> {
        let in_parts = if content.len() <= TAIL_BYTES { 0 } else { content.len() };
        let (before_tail, tail) = content.split_at(in_parts);
        let document = encoded(kept, tail)?;
        let documents = &self.inner.documents;
        let has_parts = in_parts > 0 || replaced.is_some_and(|replaced| replaced.tail_from > 0);
        if !has_parts {
            return match replaced {
                None => inserted(documents.insert_one(document).await),
                Some(replaced) => {
                    let filter = version_filter(&replaced.kept.head);
                    Ok(documents.replace_one(filter, document).await?.matched_count > 0)
                }
            };
        }
        tx.begin().await?;
        // The parts come first: a process that is killed after them leaves nothing locked that another writes.
        self.insert_parts(tx, &kept.head, 0, before_tail).await?;
        let Some(replaced) = replaced else {
            documents.insert_one(document).session(&mut *tx.session().await?).await?;
            return Ok(true);
        };
        let head = &replaced.kept.head;
        let replace = documents.replace_one(version_filter(head), document);
        if replace.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(false);
        }
        if replaced.tail_from > 0 {
            self.delete_parts(tx, head).await?;
        }
        Ok(true)
    }

    /// Moves the tail with what is appended to it to parts. Returns whether nothing else was stored meanwhile.
    pub(super) async fn move_tail(
        &self,
        tx: &Transaction<'_>,
        stored: ReadDocument,
        kept: &KeptDocument,
        appended: &[u8],
    ) -> Result<bool, Failure> {
        let ReadDocument { kept: before, tail_from, mut tail, .. } = stored;
        tail.extend_from_slice(appended);
        let document = encoded(kept, &[])?;
        tx.begin().await?;
        let replace = self.inner.documents.replace_one(version_filter(&before.head), document);
        if replace.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Ok(false);
        }
        self.insert_parts(tx, &kept.head, tail_from, &tail).await?;
        Ok(true)
    }

    async fn insert_parts(
        &self,
        tx: &Transaction<'_>,
        head: &DocumentHead,
        offset: u64,
        content: &[u8],
    ) -> Result<(), Failure> {
        let parts = parts(head, offset, content, PART_BYTES).map(|part| encode(&part));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        if !parts.is_empty() {
            let insert = self.inner.document_parts.insert_many(parts);
            insert.session(&mut *tx.session().await?).await?;
        }
        Ok(())
    }

    /// Deletes the parts of a content, in the transaction that removes the content.
    pub(super) async fn delete_parts(
        &self,
        tx: &Transaction<'_>,
        head: &DocumentHead,
    ) -> Result<(), Failure> {
        let all = parts_between(&head.app_id, &head.content_id, 0, i64::MAX);
        let delete = self.inner.document_parts.delete_many(all);
        delete.session(&mut *tx.session().await?).await?;
        Ok(())
    }
}

/// The error for a document whose parts are not all there.
pub(super) fn incomplete(path: &DocumentPath) -> Failure {
    let (id, field) = (path.to_string(), "size".to_owned());
    StoreError::Corrupt { collection: DOCUMENTS, id, field, source: None }.into()
}

/// Converts a number of bytes that are in memory.
fn index(bytes: u64) -> usize {
    usize::try_from(bytes).unwrap_or(usize::MAX)
}
