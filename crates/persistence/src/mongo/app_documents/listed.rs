//! The documents of a list, without those of the chats that the caller does not find.

use std::collections::{BTreeSet, HashMap, HashSet};

use bson::{RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::Cursor;
use mongodb::options::Hint;
use records::{ChatId, DocumentPath, Scope};

use super::document::ReadDocument;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::DOCUMENTS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::permitted_chats;

/// The documents of a list, read window by window.
///
/// Only the session of a chat says whether it is deleted. So one query for each window asks for those of its chats that are not
/// known from an earlier one.
#[derive(Debug)]
pub(super) struct ListedDocuments<'s> {
    store: &'s MongoStore,
    scope: &'s Scope,
    cursor: Cursor<RawDocumentBuf>,
    /// Whether the caller finds a chat.
    chats: HashMap<String, bool>,
    /// The path of the last document of the newest window, if there may be more after it.
    pub(super) next: Option<DocumentPath>,
}

impl<'s> ListedDocuments<'s> {
    /// Reads the documents of a cursor. `known` is the chat that the caller is known to find.
    pub(super) fn new(
        store: &'s MongoStore,
        scope: &'s Scope,
        cursor: Cursor<RawDocumentBuf>,
        known: Option<&ChatId>,
    ) -> Self {
        let chats = known.iter().map(|it| (it.as_str().to_owned(), true)).collect();
        Self { store, scope, cursor, chats, next: None }
    }

    /// Reads the next `size` documents, and returns those that the caller finds.
    pub(super) async fn next_window(
        &mut self,
        size: usize,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let mut window = Vec::new();
        while window.len() < size
            && let Some(raw) = self.cursor.try_next().await?
        {
            window.push(raw);
        }
        let last = window.last().filter(|_| window.len() == size);
        self.next = last.map(|raw| path_of(raw)).transpose()?;
        self.look_up_chats(&window).await?;
        let mut found = Vec::with_capacity(window.len());
        for raw in window {
            if chat_of(&raw)?.is_none_or(|chat_id| self.chats.get(chat_id) == Some(&true)) {
                found.push(raw);
            }
        }
        Ok(found)
    }

    /// Looks up whether the caller finds the chats of some documents.
    async fn look_up_chats(&mut self, documents: &[RawDocumentBuf]) -> Result<(), Failure> {
        let mut unknown = BTreeSet::new();
        for raw in documents {
            unknown.extend(chat_of(raw)?.filter(|chat_id| !self.chats.contains_key(*chat_id)));
        }
        if unknown.is_empty() {
            return Ok(());
        }
        let found = self.store.found_chats(self.scope, &unknown).await?;
        let looked_up = unknown.iter().map(|it| ((*it).to_owned(), found.contains(*it)));
        self.chats.extend(looked_up);
        Ok(())
    }
}

impl MongoStore {
    /// Returns whether the caller finds every chat of some documents.
    pub(super) async fn finds_chats_of(
        &self,
        scope: &Scope,
        documents: &[ReadDocument],
    ) -> Result<bool, Failure> {
        let chats = documents.iter().filter_map(|it| it.kept.head.binding.chat_id.as_ref());
        let chats: BTreeSet<&str> = chats.map(ChatId::as_str).collect();
        Ok(chats.is_empty() || self.found_chats(scope, &chats).await?.len() == chats.len())
    }

    /// Returns those of some chats that the caller finds.
    async fn found_chats(
        &self,
        scope: &Scope,
        chats: &BTreeSet<&str>,
    ) -> Result<HashSet<String>, Failure> {
        let ids: Vec<&str> = chats.iter().copied().collect();
        let mut these = permitted_chats(scope);
        these.insert("_id", doc! { "$in": ids });
        // The server might choose an index of the app, which is slower the more chats it has.
        let by_id = Hint::Keys(doc! { "_id": 1 });
        let find = self.inner.chat_sessions.find(these).projection(doc! { "_id": 1 }).hint(by_id);
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        Ok(found.iter().filter_map(|raw| raw.get_str("_id").ok().map(str::to_owned)).collect())
    }
}

fn chat_of(raw: &RawDocument) -> Result<Option<&str>, StoreError> {
    fields_of(raw)?.optional_text("chat_id")
}

/// Returns the path of a document.
pub(super) fn path_of(raw: &RawDocument) -> Result<DocumentPath, StoreError> {
    let fields = fields_of(raw)?;
    fields.inside(fields.document("_id")?).parsed("path")
}

fn fields_of(raw: &RawDocument) -> Result<Fields<'_>, StoreError> {
    Fields::open(DOCUMENTS, "(a document)", raw)
}
