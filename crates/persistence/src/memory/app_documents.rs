use std::collections::{BTreeMap, BTreeSet};
use std::sync::MutexGuard;

use async_trait::async_trait;
use futures::stream::{self, BoxStream, StreamExt as _};
use records::{
    AppId, ChatId, DocumentHead, DocumentPath, Lifecycle, NewDocument, Reach, Scope, UserId,
};
use tokio::sync::broadcast::error::RecvError;

use super::erasures::is_left;
use super::{MemoryStore, held};
use crate::StoreError;
use crate::metrics::Call;
use crate::rules::app_document::{
    Append, KeptDocument, Put, answer, append, check_creates, check_permitted, check_seen, put,
    taken, written,
};
use crate::store::{
    AppDocuments, AppendCondition, AppendedDocument, DeletedDocuments, DocumentChange,
    DocumentContent, DocumentFilter, DocumentPage, DocumentRange, NamespacePage, Outcome,
    PutCondition, Written,
};

/// A document with its content.
#[derive(Debug)]
pub(super) struct MemoryDocument {
    kept: KeptDocument,
    content: Vec<u8>,
}

type Documents = BTreeMap<(AppId, DocumentPath), MemoryDocument>;

#[async_trait]
impl AppDocuments for MemoryStore {
    async fn put_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: NewDocument,
        condition: PutCondition,
    ) -> Result<Written<DocumentHead>, StoreError> {
        self.observe(Call::PutDocument, || {
            new.check()?;
            let mut documents = self.existing_documents();
            let key = key(scope, path);
            let stored = documents.get(&key).map(|document| &document.kept);
            self.check_writes(scope, path, &new, stored)?;
            let content_id = self.ids.mint("content_");
            let (now, content_id) = (self.clock.now(), content_id.as_str());
            match put(scope, path, &new, &condition, stored, (now, content_id))? {
                Put::Keep(head) => Ok(Written::found(head, false)),
                Put::Store(kept) => {
                    let head = kept.head.clone();
                    documents.insert(key, MemoryDocument { kept, content: new.content });
                    self.notify_written(&head);
                    Ok(written(head))
                }
            }
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
        self.observe(Call::AppendDocument, || {
            new.check()?;
            let mut documents = self.existing_documents();
            let key = key(scope, path);
            let stored = documents.get(&key).map(|document| &document.kept);
            self.check_writes(scope, path, &new, stored)?;
            let write_id = condition.write_id.clone();
            let write_id = write_id.unwrap_or_else(|| self.ids.mint("append_"));
            let content_id = self.ids.mint("content_");
            let now = (self.clock.now(), content_id.as_str());
            match append(scope, path, &new, &condition, &write_id, stored, now)? {
                Append::Replaced => {
                    let head = stored.map(|stored| &stored.head);
                    let missing = || StoreError::DocumentOffset { path: path.clone(), size: 0 };
                    let head = head.ok_or_else(missing)?;
                    Ok(answer(head, head.size, Outcome::Duplicate))
                }
                decision @ (Append::MadeBefore(offset) | Append::DoneIfStored(offset)) => {
                    let Some(document) = documents.get(&key) else {
                        return Err(StoreError::DocumentOffset { path: path.clone(), size: 0 });
                    };
                    let head = &document.kept.head;
                    let from = usize::try_from(offset).unwrap_or(usize::MAX);
                    let stored = document.content.get(from..from.saturating_add(new.content.len()));
                    if stored == Some(&*new.content) {
                        return Ok(answer(head, offset, Outcome::Duplicate));
                    }
                    Err(match decision {
                        Append::MadeBefore(_) => StoreError::AppendConflict(path.clone()),
                        _ => StoreError::DocumentOffset { path: path.clone(), size: head.size },
                    })
                }
                Append::Create(kept) => {
                    let answer = answer(&kept.head, 0, Outcome::Stored);
                    self.notify_written(&kept.head);
                    documents.insert(key, MemoryDocument { kept, content: new.content });
                    Ok(answer)
                }
                Append::Add(kept) => {
                    let offset = kept.head.size - new.content.len() as u64;
                    let answer = answer(&kept.head, offset, Outcome::Stored);
                    self.notify_written(&kept.head);
                    if let Some(document) = documents.get_mut(&key) {
                        document.kept = kept;
                        document.content.extend(new.content);
                    }
                    Ok(answer)
                }
            }
        })
        .await
    }

    async fn read_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        range: DocumentRange,
    ) -> Result<Option<DocumentContent>, StoreError> {
        self.observe(Call::ReadDocument, || {
            let documents = self.existing_documents();
            let Some(document) = documents.get(&key(scope, path)) else { return Ok(None) };
            let head = document.kept.head.clone();
            if !self.finds_document(scope, &head)? {
                return Ok(None);
            }
            let range = range.within(head.size);
            let part = usize::try_from(range.start).ok().zip(usize::try_from(range.end).ok());
            let part = part.and_then(|(from, to)| document.content.get(from..to));
            let content = part.unwrap_or_default().to_vec();
            Ok(Some(DocumentContent { head, offset: range.start, content }))
        })
        .await
    }

    async fn delete_document(
        &self,
        scope: &Scope,
        path: &DocumentPath,
    ) -> Result<bool, StoreError> {
        self.observe(Call::DeleteDocument, || {
            let mut documents = self.existing_documents();
            let key = key(scope, path);
            let Some(document) = documents.get(&key) else { return Ok(false) };
            let head = &document.kept.head;
            if !self.finds_document(&scope.finding_deleted(), head)? {
                return Ok(false);
            }
            check_seen(scope, head)?;
            self.notify_deleted(head);
            Ok(documents.remove(&key).is_some())
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
        self.observe(Call::ListDocuments, || {
            let documents = self.existing_documents();
            let mut page = DocumentPage::default();
            for head in self.listed_documents(&documents, scope, filter, after)? {
                let with_content = filter.with_content && head.size <= DocumentPage::LISTED_BYTES;
                let content = documents.get(&(head.app_id.clone(), head.path.clone()));
                let content = content.filter(|_| with_content).map(|it| it.content.clone());
                if !page.has_room(limit, content.as_ref().map_or(0, Vec::len)) {
                    break;
                }
                page.documents.push((head, content));
            }
            Ok(page)
        })
        .await
    }

    async fn delete_documents(
        &self,
        scope: &Scope,
        filter: &DocumentFilter,
        limit: usize,
    ) -> Result<DeletedDocuments, StoreError> {
        self.observe(Call::DeleteDocuments, || {
            let mut documents = self.existing_documents();
            let listed = self.listed_documents(&documents, scope, filter, None)?;
            let has_more = listed.len() > limit;
            let mut deleted = 0;
            for head in listed.into_iter().take(limit) {
                self.notify_deleted(&head);
                documents.remove(&(head.app_id, head.path));
                deleted += 1;
            }
            Ok(DeletedDocuments { deleted, has_more })
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
        self.observe(Call::ListNamespaces, || {
            let documents = self.existing_documents();
            let mut page = NamespacePage::default();
            for head in self.listed_documents(&documents, scope, filter, after)? {
                if !page.add(head.path, filter.namespace.as_ref(), depth, limit) {
                    break;
                }
            }
            Ok(page)
        })
        .await
    }

    fn document_changes(&self) -> BoxStream<'static, DocumentChange> {
        let began = stream::iter([DocumentChange::Began]);
        let changes = stream::unfold(self.document_changes.subscribe(), async |mut told| {
            let change = match told.recv().await {
                Ok(change) => change,
                // The listener was too slow, and changes were overwritten before it read them.
                Err(RecvError::Lagged(_)) => DocumentChange::Began,
                Err(RecvError::Closed) => return None,
            };
            Some((change, told))
        });
        began.chain(changes).boxed()
    }
}

impl MemoryStore {
    /// Returns the documents, without those that have expired or whose chat was purged.
    fn existing_documents(&self) -> MutexGuard<'_, Documents> {
        let mut documents = held(&self.app_documents);
        let (chats, now) = (self.chats(), self.clock.now());
        documents.retain(|_, document| {
            let head = &document.kept.head;
            let chat = head.binding.chat_id.as_ref().map(|chat_id| chats.get(chat_id));
            let is_gone = |chat: Option<&super::Chat>| {
                chat.is_none_or(|it| it.session.lifecycle == Lifecycle::Purged)
            };
            let exists = head.exists_at(now) && !chat.is_some_and(is_gone);
            if !exists {
                self.notify_deleted(head);
            }
            exists
        });
        documents
    }

    /// Refuses a caller without the permission of the scope in a document.
    fn check_permits(&self, scope: &Scope, head: &DocumentHead) -> Result<(), StoreError> {
        let Some(chat_id) = &head.binding.chat_id else { return check_permitted(scope, head) };
        match self.with_chat(&scope.unfenced(), chat_id, |_| Ok(())) {
            Err(StoreError::ChatNotFound(_)) => {
                Err(StoreError::DocumentNotFound(head.path.clone()))
            }
            checked => checked,
        }
    }

    /// Returns whether the caller finds a document. Refuses one who may read it and lacks the permission of the scope.
    fn finds_document(&self, scope: &Scope, head: &DocumentHead) -> Result<bool, StoreError> {
        match self.check_permits(scope, head) {
            Err(StoreError::DocumentNotFound(_)) => Ok(false),
            checked => checked.map(|()| true),
        }
    }

    /// Refuses a caller who may not write a document.
    fn check_writes(
        &self,
        scope: &Scope,
        path: &DocumentPath,
        new: &NewDocument,
        stored: Option<&KeptDocument>,
    ) -> Result<(), StoreError> {
        let check_may_create = || match &new.binding.chat_id {
            Some(chat_id) => self.with_chat(&scope.unfenced(), chat_id, |_| Ok(())),
            None => check_creates(scope, path, new, self.clock.now()),
        };
        let Some(stored) = stored else { return check_may_create() };
        match self.check_permits(scope, &stored.head) {
            // One who could not create a document either does not learn that the path is taken.
            Err(refusal @ StoreError::DocumentNotFound(_)) => {
                check_may_create().and(Err(taken(refusal)))
            }
            checked => checked,
        }
    }

    /// Returns the documents of a list after a position.
    fn listed_documents(
        &self,
        documents: &Documents,
        scope: &Scope,
        filter: &DocumentFilter,
        after: Option<&DocumentPath>,
    ) -> Result<Vec<DocumentHead>, StoreError> {
        if let Some(chat_id) = &filter.chat_id {
            self.with_chat(&scope.unfenced(), chat_id, |_| Ok(()))?;
        }
        let reach = scope.reach(scope.permission);
        let lists_chats = filter.chat_id.is_some() || reach == Reach::Every;
        let chats = self.chats();
        let is_listed = |head: &&DocumentHead| {
            let is_found = match &head.binding.chat_id {
                Some(chat_id) => {
                    lists_chats && chats.get(chat_id).is_some_and(|chat| chat.permits(scope))
                }
                None => reach.lists_record(*head),
            };
            head.app_id == scope.app_id && is_found && filter.admits(head)
        };
        let heads = documents.values().map(|document| &document.kept.head).filter(is_listed);
        let heads = heads.filter(|head| after.is_none_or(|after| head.path > *after));
        Ok(heads.cloned().collect())
    }

    /// Deletes the documents of a person, except those of chats that an erasure leaves; returns how many there were, and these
    /// chats.
    pub(super) fn delete_documents_of(
        &self,
        app_id: &AppId,
        user_id: &UserId,
    ) -> (u64, BTreeSet<ChatId>) {
        let mut documents = held(&self.app_documents);
        let chats = self.chats();
        let (before, mut left) = (documents.len(), BTreeSet::new());
        documents.retain(|_, document| {
            let head = &document.kept.head;
            if head.app_id != *app_id || head.binding.user_id.as_ref() != Some(user_id) {
                return true;
            }
            let chat_id = head.binding.chat_id.as_ref();
            if let Some(chat_id) = chat_id.filter(|chat_id| is_left(&chats, chat_id)) {
                left.insert(chat_id.clone());
                return true;
            }
            self.notify_deleted(head);
            false
        });
        ((before - documents.len()) as u64, left)
    }

    fn notify_written(&self, head: &DocumentHead) {
        let (app_id, path) = (head.app_id.clone(), head.path.clone());
        // `send` fails only if there is no listener.
        let _ = self.document_changes.send(DocumentChange::Written {
            app_id,
            path,
            version: head.version,
        });
    }

    fn notify_deleted(&self, head: &DocumentHead) {
        let (app_id, path) = (head.app_id.clone(), head.path.clone());
        let _ = self.document_changes.send(DocumentChange::Deleted { app_id, path });
    }
}

fn key(scope: &Scope, path: &DocumentPath) -> (AppId, DocumentPath) {
    (scope.app_id.clone(), path.clone())
}
