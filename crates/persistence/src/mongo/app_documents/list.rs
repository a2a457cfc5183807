//! Lists of documents.

use std::collections::BTreeSet;

use bson::{Bson, Document, doc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Delete, Find};
use mongodb::options::Hint;
use records::{AppId, ChatId, DocumentHead, DocumentPath, Reach, Scope, UserId, Visibility};

use super::content::{MAX_READ_ATTEMPTS, incomplete};
use super::document::{ReadDocument, keys_within, stored_document};
use super::listed::{ListedDocuments, path_of};
use super::version_filter;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::DOCUMENTS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::scope::listed_records;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::store::{DeletedDocuments, DocumentFilter, DocumentPage, NamespacePage};

/// The fewest documents that a page examines, so that one of a small limit gets past those of deleted chats.
const MIN_EXAMINED: usize = 100;
/// How many paths a page of namespaces reads before it looks up their chats.
const PATHS_AT_ONCE: usize = 1_000;

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
        for raw in found.next_window(limit.max(MIN_EXAMINED) + 1).await? {
            let stored = stored_document(&raw)?;
            let head = stored.kept.head.clone();
            let with_content = filter.with_content && head.size <= DocumentPage::LISTED_BYTES;
            let bytes =
                if with_content { usize::try_from(head.size).unwrap_or(usize::MAX) } else { 0 };
            if !page.has_room(limit, bytes) {
                return Ok(page);
            }
            if !with_content {
                page.documents.push((head, None));
            } else if let Some((head, content)) = self.listed_content(scope, stored).await? {
                page.documents.push((head, Some(content)));
            }
        }
        page.next = found.next;
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
        let only_path = || Some(doc! { "_id": 1, "chat_id": 1, "schema_version": 1 });
        let mut found = self.find_documents(scope, filter, after, only_path).await?;
        let mut page = NamespacePage::default();
        for _ in 0..NamespacePage::EXAMINED / PATHS_AT_ONCE {
            for raw in found.next_window(PATHS_AT_ONCE).await? {
                if !page.add(path_of(&raw)?, filter.namespace.as_ref(), depth, limit) {
                    return Ok(page);
                }
            }
            if found.next.is_none() {
                break;
            }
        }
        page.next = found.next;
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
        loop {
            for raw in found.next_window(limit + 1).await? {
                listed.push(stored_document(&raw)?);
            }
            if listed.len() > limit || found.next.is_none() {
                break;
            }
            tx.attempt().check_continues()?;
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
        // A chat may have been deleted since its documents were listed. The snapshot of the transaction would not show it, so
        // this reads beside it, last: a chat that is deleted after this is deleted after its documents.
        if !self.finds_chats_of(scope, &listed).await? {
            return Ok(Round::Again);
        }
        Ok(Round::Done(DeletedDocuments { deleted, has_more }))
    }

    /// Finds the documents of a list, in the order of their paths.
    async fn find_documents<'s>(
        &'s self,
        scope: &'s Scope,
        filter: &DocumentFilter,
        after: Option<&DocumentPath>,
        projection: fn() -> Option<Document>,
    ) -> Result<ListedDocuments<'s>, Failure> {
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
        let cursor = hinted(Hint::Keys(doc! { "_id": 1 }), |hint| async {
            let find = self.inner.documents.find(query.clone()).sort(doc! { "_id": 1 });
            let find = find.optional(projection(), Find::projection);
            Ok(find.optional(hint, Find::hint).await?)
        });
        Ok(ListedDocuments::new(self, scope, cursor.await?, chat_id.as_ref()))
    }

    /// Returns the chats that the documents of a person are of.
    pub(crate) async fn chats_of_documents(
        &self,
        app_id: &AppId,
        user_id: &UserId,
    ) -> Result<BTreeSet<ChatId>, Failure> {
        let mut bound = owner_filter(app_id.as_str(), user_id.as_str());
        bound.insert("chat_id", doc! { "$exists": true });
        let projection = doc! { "chat_id": 1, "schema_version": 1 };
        let found = hinted(by_owner(), |hint| async {
            let find = self.inner.documents.find(bound.clone()).projection(projection.clone());
            Ok(find.optional(hint, Find::hint).await?)
        });
        let mut found = found.await?;
        let mut chats = BTreeSet::new();
        while let Some(raw) = found.try_next().await? {
            chats.insert(Fields::open(DOCUMENTS, "(a document)", &raw)?.parsed("chat_id")?);
        }
        Ok(chats)
    }

    /// Deletes the documents of a person, except those of the chats that are `left`; returns how many there were.
    pub(crate) async fn delete_documents_of(
        &self,
        app_id: &str,
        user_id: &str,
        left: &[ChatId],
    ) -> Result<u64, Failure> {
        let left: Vec<&str> = left.iter().map(ChatId::as_str).collect();
        let mut theirs = owner_filter(app_id, user_id);
        theirs.insert("chat_id", doc! { "$nin": left });
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

/// Returns the filter for the documents, or their parts, of a person.
fn owner_filter(app_id: &str, user_id: &str) -> Document {
    doc! { "_id.app_id": app_id, "user_id": user_id }
}

/// Returns the index that finds what the filter of an owner does.
fn by_owner() -> Hint {
    Hint::Keys(doc! { "_id.app_id": 1, "user_id": 1 })
}

/// The projection of a whole document.
fn whole() -> Option<Document> {
    None
}
