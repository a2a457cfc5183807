//! Lists of documents.

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::Cursor;
use mongodb::action::{Action as _, Delete, Find};
use mongodb::options::Hint;
use records::{DocumentHead, DocumentPath, Reach, Scope, Visibility};

use super::content::{MAX_READ_ATTEMPTS, incomplete};
use super::document::{ReadDocument, keys_within, stored_document};
use super::version_filter;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::DOCUMENTS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::scope::listed_records;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::store::{DeletedDocuments, DocumentFilter, DocumentPage, NamespacePage};

impl MongoStore {
    pub(super) async fn documents_page(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
        after: Option<&DocumentPath>,
    ) -> Result<DocumentPage, Failure> {
        let mut found = self.find_documents(scope, filter, after, whole).await?;
        let mut page = DocumentPage::default();
        while let Some(raw) = found.try_next().await? {
            let stored = stored_document(&raw)?;
            let head = stored.kept.head.clone();
            let with_content = filter.with_content && head.size <= DocumentPage::LISTED_BYTES;
            let bytes =
                if with_content { usize::try_from(head.size).unwrap_or(usize::MAX) } else { 0 };
            if !page.has_room(limit, bytes) {
                break;
            }
            if !with_content {
                page.documents.push((head, None));
            } else if let Some((head, content)) = self.listed_content(scope, stored).await? {
                page.documents.push((head, Some(content)));
            }
        }
        Ok(page)
    }

    /// Returns the content of a document in a list; `None` if it has been deleted.
    async fn listed_content(
        &self,
        scope: &Scope,
        mut stored: ReadDocument,
    ) -> Result<Option<(DocumentHead, Vec<u8>)>, Failure> {
        for _ in 0..MAX_READ_ATTEMPTS {
            let size = stored.kept.head.size;
            if let Some(content) = self.content_of(&stored, 0..size).await? {
                return Ok(Some((stored.kept.head, content)));
            }
            match self.document(scope, &stored.kept.head.path).await? {
                Some(replaced) => stored = replaced,
                None => return Ok(None),
            }
        }
        Err(incomplete(&stored.kept.head.path))
    }

    pub(super) async fn namespaces_page(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        depth: usize,
        limit: usize,
        after: Option<&DocumentPath>,
    ) -> Result<NamespacePage, Failure> {
        let only_path = || Some(doc! { "_id": 1, "schema_version": 1 });
        let mut found = self.find_documents(scope, filter, after, only_path).await?;
        let mut page = NamespacePage::default();
        while let Some(raw) = found.try_next().await? {
            if !page.add(path_of(&raw)?, filter.namespace.as_ref(), depth, limit) {
                break;
            }
        }
        Ok(page)
    }

    /// Deletes the first documents of a list, all together, in the versions that were listed.
    pub(super) async fn delete_listed_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
    ) -> Result<Round<DeletedDocuments>, Failure> {
        let mut found = self.find_documents(scope, filter, None, whole).await?;
        let mut listed = Vec::new();
        while listed.len() <= limit
            && let Some(raw) = found.try_next().await?
        {
            listed.push(stored_document(&raw)?);
        }
        let has_more = listed.len() > limit;
        listed.truncate(limit);
        let deleted = listed.len() as u64;
        if listed.is_empty() {
            return Ok(Round::Done(DeletedDocuments { deleted, has_more }));
        }
        let these: Vec<_> = listed.iter().map(|it| version_filter(&it.kept.head)).collect();
        tx.begin().await?;
        let delete = self.inner.documents.delete_many(doc! { "$or": these });
        if delete.session(&mut *tx.session().await?).await?.deleted_count < deleted {
            return Ok(Round::Again);
        }
        for stored in listed.iter().filter(|it| it.tail_from > 0) {
            self.delete_parts(&tx, &stored.kept.head).await?;
        }
        Ok(Round::Done(DeletedDocuments { deleted, has_more }))
    }

    /// Finds the documents of a list, in the order of their paths.
    async fn find_documents(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        after: Option<&DocumentPath>,
        projection: fn() -> Option<Document>,
    ) -> Result<Cursor<RawDocumentBuf>, Failure> {
        let DocumentFilter { namespace, chat_id, user_id, .. } = filter;
        let mut query = match chat_id {
            Some(chat_id) => {
                self.session_within(&scope.unfenced(), chat_id, doc! { "_id": 1 }).await?;
                doc! { "chat_id": chat_id.as_str() }
            }
            None if scope.reach(scope.permission) == Reach::Every => Document::new(),
            None => {
                let mut query = listed_records(scope, &[Visibility::App]);
                query.insert("chat_id", Bson::Null);
                query
            }
        };
        query.extend(user_id.iter().map(|it| ("user_id".to_owned(), it.as_str().into())));
        query.insert("_id", keys_within(&scope.app_id, namespace.as_ref(), after));
        let now = bson::DateTime::from_chrono(self.inner.clock.now());
        // Not by an operator of its own at the top: the filter of what the caller finds has one.
        query.insert("expires_at", doc! { "$not": { "$lte": now } });
        hinted(Hint::Keys(doc! { "_id": 1 }), |hint| async {
            let find = self.inner.documents.find(query.clone()).sort(doc! { "_id": 1 });
            let find = find.optional(projection(), Find::projection);
            Ok(find.optional(hint, Find::hint).await?)
        })
        .await
    }

    /// Deletes the documents of a person; returns how many there were.
    pub(crate) async fn delete_documents_of(
        &self,
        app_id: &str,
        user_id: &str,
    ) -> Result<u64, Failure> {
        let theirs = doc! { "_id.app_id": app_id, "user_id": user_id };
        let by_owner = || Hint::Keys(doc! { "_id.app_id": 1, "user_id": 1 });
        let mut count = 0;
        for collection in [&self.inner.document_parts, &self.inner.documents] {
            count = hinted(by_owner(), |hint| async {
                let delete = collection.delete_many(theirs.clone());
                Ok(delete.optional(hint, Delete::hint).await?.deleted_count)
            })
            .await?;
        }
        Ok(count)
    }
}

/// The projection of a whole document.
fn whole() -> Option<Document> {
    None
}

fn path_of(raw: &RawDocument) -> Result<DocumentPath, StoreError> {
    let fields = Fields::open(DOCUMENTS, "(a document)", raw)?;
    fields.inside(fields.document("_id")?).parsed("path")
}
