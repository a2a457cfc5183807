//! Chat sessions: how they are created, read and found.

mod lists;
mod status;

pub(crate) use lists::TitleCounts;

use std::collections::HashSet;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use mongodb::options::ReturnDocument;
use records::{ChatId, ChatSession, ChatStatus, NewChatSession, Scope, SessionChange};

use self::status::NewStatus;
use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    ChatSessionDocument, Tail, WITHOUT_LARGE_FIELDS, chat_session_record, encode, open_chat_session,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::scope::{depends_on_chat, permitted_chat, writable_chat};
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::fence::check_fence;
use crate::rules::lists::serving_lists;
use crate::rules::new_chat::started;
use crate::store::{ChatCount, ChatFilter, ChatSessions, ListCursor, Page};

#[async_trait]
impl ChatSessions for MongoStore {
    async fn create_chat(
        &self,
        scope: &Scope,
        new: NewChatSession,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::CreateChat, None, async {
            new.check()?;
            let chat = started(scope, new, &*self.inner.clock, &*self.inner.ids)?;
            let creation_id = self.inner.ids.mint("creation_");
            let scope = scope.unfenced();
            self.write(|call| async move {
                let round = |tx| call.insert_chat(tx, &chat, &creation_id);
                call.transact(&scope, &chat.chat_id, round).await?;
                Ok(chat)
            })
            .await
        })
        .await
    }

    async fn get_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, StoreError> {
        self.observe(
            Call::GetChat,
            Some(chat_id),
            self.read(|| async { self.get_chat_within(scope, chat_id).await }),
        )
        .await
    }

    async fn list_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Page, StoreError> {
        self.observe(Call::ListChats, None, async {
            let lists = serving_lists(scope, filter, after)?;
            if lists.iter().any(|list| list.compares(filter)) {
                return self.list_compared(&lists, scope, filter, limit, after).await;
            }
            let read = |list| self.list_within(list, scope, filter, limit, after);
            let chats = self.read_lists(&lists, scope, filter, read).await?;
            // A chat may be a person's own and shared with them, too.
            let mut seen = HashSet::new();
            let chats =
                chats.into_iter().filter(|chat| seen.insert(chat.chat_id.clone())).collect();
            Ok(Page::cut(chats, limit, filter))
        })
        .await
    }

    async fn count_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
    ) -> Result<ChatCount, StoreError> {
        self.observe(Call::CountChats, None, async {
            let lists = serving_lists(scope, filter, None)?;
            if lists.iter().any(|list| list.compares(filter)) {
                return self.count_compared(&lists, scope, filter).await;
            }
            let most = ChatCount::MAX_COUNTED.saturating_add(1);
            let ids = |list| self.listed_ids(list, scope, filter, doc! {}, most);
            let ids = self.read_lists(&lists, scope, filter, ids).await?;
            // A chat may be in several of the ranges.
            Ok(ChatCount::of(HashSet::<String>::from_iter(ids).len()))
        })
        .await
    }

    async fn index_metadata(&self, limit: usize) -> Result<usize, StoreError> {
        self.observe(Call::IndexMetadata, None, self.index_attributes(limit)).await
    }

    async fn set_status(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::SetStatus, Some(chat_id), async {
            let change = NewStatus {
                status: next,
                reason: reason.map(str::to_owned),
                change_id: self.inner.ids.mint("change_"),
            };
            let (scope, chat_id) = (scope.clone(), chat_id.clone());
            self.write(|call| async move {
                let round = |tx| call.set_status_round(tx, &scope, &chat_id, &change);
                let (chat, ended) = call.transact(&scope, &chat_id, round).await?;
                call.notify_change(&chat_id);
                call.notify_streams(&chat_id, ended);
                Ok(chat)
            })
            .await
        })
        .await
    }

    async fn change_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change: SessionChange,
    ) -> Result<ChatSession, StoreError> {
        let changing = self.change_session(scope, chat_id, change);
        self.observe(Call::ChangeChat, Some(chat_id), changing).await
    }
}

impl MongoStore {
    pub(crate) async fn get_chat_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, Failure> {
        let find = self.inner.chat_sessions.find_one(permitted_chat(scope, chat_id));
        let raw = find.projection(without_large_fields()).await?;
        Ok(raw.map(|raw| chat_session_record(&raw)).transpose()?)
    }

    async fn insert_chat(
        &self,
        tx: Transaction<'_>,
        chat: &ChatSession,
        creation_id: &str,
    ) -> Result<Round<()>, Failure> {
        self.read_format_once().await?;
        if !tx.is_first() && self.is_created(&chat.chat_id, creation_id).await? {
            return Ok(Round::Done(()));
        }
        let keys = self.declared_keys(&chat.app_id).await?;
        let document = encode(&ChatSessionDocument::new(chat, creation_id, &keys))?;
        tx.begin_counted(chat).await?;
        let insert = self.inner.chat_sessions.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        self.count_new_chat(chat, &tx).await?;
        Ok(Round::Done(()))
    }

    /// Returns whether an earlier attempt of the call has created the chat. Fails if another call
    /// has used the id.
    ///
    /// The read has majority concern, so that it never reports a creation that is rolled back later.
    pub(crate) async fn is_created(
        &self,
        chat_id: &ChatId,
        creation_id: &str,
    ) -> Result<bool, Failure> {
        let found = self.inner.chat_sessions.find_one(doc! { "_id": chat_id.as_str() });
        let found = found.projection(doc! { "creation_id": 1 }).await?;
        match found.as_ref().map(|found| found.get_str("creation_id")) {
            None => Ok(false),
            Some(Ok(found)) if found == creation_id => Ok(true),
            Some(_) => Err(StoreError::ChatExists(chat_id.clone()).into()),
        }
    }

    /// Updates the session that matches, and returns it after the update; `None` if none matches.
    pub(crate) async fn updated_session(
        &self,
        tx: Option<&Transaction<'_>>,
        filter: Document,
        update: Document,
    ) -> Result<Option<ChatSession>, Failure> {
        let update = self.inner.chat_sessions.find_one_and_update(filter, update);
        let update =
            update.projection(without_large_fields()).return_document(ReturnDocument::After);
        let updated = match tx {
            Some(tx) => update.session(&mut *tx.session().await?).await?,
            None => update.await?,
        };
        Ok(updated.map(|raw| chat_session_record(&raw)).transpose()?)
    }

    /// Reads a chat, or fails if it does not exist.
    pub(crate) async fn known_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ChatSession, Failure> {
        match self.get_chat_within(scope, chat_id).await? {
            Some(chat) => Ok(chat),
            None => Err(self.refused_chat(scope, chat_id).await?),
        }
    }

    /// Updates a chat within a transaction of its other records: the filter of that update checks the caller's access and lease,
    /// and no purge can come between.
    pub(crate) async fn touch_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<(), Failure> {
        if !self.touch_matching(tx, writable_chat(scope, chat_id)).await? {
            return Err(self.classify_unmatched(scope, chat_id).await?);
        }
        Ok(())
    }

    /// Updates the chat that a filter selects, as [`touch_within`](Self::touch_within) does. Returns whether there is one.
    pub(crate) async fn touch_matching(
        &self,
        tx: &Transaction<'_>,
        filter: Document,
    ) -> Result<bool, Failure> {
        let now = DateTime::from_chrono(self.inner.clock.now());
        let touch = doc! { "$set": { "last_updated_at": now } };
        let touch = self.inner.chat_sessions.update_one(filter, touch);
        Ok(touch.session(&mut *tx.session().await?).await?.matched_count > 0)
    }

    /// Returns why an update matched no session: the chat does not exist, or the caller's lease is gone.
    pub(crate) async fn classify_unmatched(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Failure, Failure> {
        let raw = self.session_within(scope, chat_id, Tail::projection()).await?;
        let tail = Tail::read(&open_chat_session(&raw)?)?;
        let fenced = check_fence(chat_id, scope.fencing_token, tail.fencing_token).err();
        Ok(fenced.unwrap_or_else(|| StoreError::ChatNotFound(chat_id.clone())).into())
    }

    /// Reads some fields of a session document, with majority concern.
    pub(crate) async fn session_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        projection: Document,
    ) -> Result<RawDocumentBuf, Failure> {
        let find = self.inner.chat_sessions.find_one(permitted_chat(scope, chat_id));
        match find.projection(projection).await? {
            Some(raw) => Ok(raw),
            None => Err(self.refused_chat(scope, chat_id).await?),
        }
    }

    /// Returns why a caller does not find a chat: it may not read the chat, or lacks the permission of the scope.
    ///
    /// One read decides that the permission is missing. Since the read that did not find the chat, it may have been restored,
    /// or the caller may have got the permission: then the call is to be tried again.
    pub(crate) async fn refused_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Failure, Failure> {
        let exists = async |filter: Document| {
            let find = self.inner.chat_sessions.find_one(filter).projection(doc! { "_id": 1 });
            Ok::<_, Failure>(find.await?.is_some())
        };
        if depends_on_chat(scope) {
            let permitted = permitted_chat(scope, chat_id);
            let readable = permitted_chat(&scope.reading(), chat_id);
            let only_readable = doc! { "$and": [readable, { "$nor": [permitted.clone()] }] };
            if exists(only_readable).await? {
                let (chat_id, permission) = (chat_id.clone(), scope.permission);
                return Ok(StoreError::Forbidden { chat_id, permission }.into());
            }
            if exists(permitted).await? {
                return Ok(Failure::Overtaken(
                    "the chat was restored, or the caller's rights were changed",
                ));
            }
        }
        Ok(StoreError::ChatNotFound(chat_id.clone()).into())
    }
}

pub(crate) fn without_large_fields() -> Document {
    WITHOUT_LARGE_FIELDS.into_iter().map(|field| (field.to_owned(), Bson::Int32(0))).collect()
}
