use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{ChatId, ChatSession, ChatStatus, NewChatSession, Scope};

use super::MongoStore;
use super::documents::{
    Tail, WITHOUT_BULK, chat_session_document, chat_session_record, open_chat_session,
};
use super::failure::{Failure, is_duplicate_key};
use super::scope::{visible_chat, visible_chats, writable_chat};
use crate::StoreError;
use crate::new_chat::{ended, kept_reason, started};
use crate::store::{ChatFilter, ChatSessions, Cursor, Page};

#[async_trait]
impl ChatSessions for MongoStore {
    async fn create_chat(
        &self,
        scope: &Scope,
        new: NewChatSession,
    ) -> Result<ChatSession, StoreError> {
        new.check()?;
        let chat = started(scope, new, &*self.inner.clock, &*self.inner.ids);
        let creation_id = self.inner.ids.mint("creation_");
        let document = chat_session_document(&chat, &creation_id);
        self.write(|_| async { self.insert_chat(&chat.chat_id, &document, &creation_id).await })
            .await?;
        Ok(chat)
    }

    async fn get_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, StoreError> {
        self.read(|| async { self.get_chat_within(scope, chat_id).await }).await
    }

    async fn list_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page, StoreError> {
        let query = list_query(scope, filter, after);
        // One more than asked for tells whether there is another page.
        let limit_and_one = i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1);
        let found: Vec<RawDocumentBuf> = self
            .read(|| async {
                let find = self.inner.chat_sessions.find(query.clone());
                let find = find.sort(doc! { "created_at": -1, "_id": -1 });
                let cursor = find.limit(limit_and_one).projection(without_bulk()).await?;
                Ok(cursor.try_collect().await?)
            })
            .await?;
        let chats = found.iter().map(|raw| chat_session_record(raw));
        Ok(Page::cut(chats.collect::<Result<_, _>>()?, limit))
    }

    async fn set_status(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<ChatSession, StoreError> {
        self.write(|_| async {
            loop {
                let chat = self.get_chat_within(scope, chat_id).await?;
                let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
                if chat.status == next {
                    return Ok(chat);
                }
                if !chat.status.may_become(next) {
                    let (from, to) = (chat.status, next);
                    let chat_id = chat_id.clone();
                    return Err(StoreError::IllegalTransition { chat_id, from, to }.into());
                }
                // None: somebody else has moved it meanwhile, so look again.
                if let Some(chat) = self.move_chat(scope, &chat, next, reason).await? {
                    return Ok(chat);
                }
            }
        })
        .await
    }
}

impl MongoStore {
    async fn get_chat_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, Failure> {
        let find = self.inner.chat_sessions.find_one(visible_chat(scope, chat_id));
        let raw = find.projection(without_bulk()).await?;
        Ok(raw.map(|raw| chat_session_record(&raw)).transpose()?)
    }

    async fn insert_chat(
        &self,
        chat_id: &ChatId,
        document: &Document,
        creation_id: &str,
    ) -> Result<(), Failure> {
        let sessions = &self.inner.chat_sessions;
        let raw = RawDocumentBuf::try_from(document).map_err(mongodb::error::Error::from)?;
        match sessions.insert_one(raw).await {
            Ok(_) => return Ok(()),
            Err(error) if is_duplicate_key(&error) => {}
            Err(error) => return Err(error.into()),
        }
        // The id is taken: by an earlier attempt of this call, or by another creation. A read with
        // majority concern also keeps us from reporting what may yet be rolled back.
        let found = sessions
            .find_one(doc! { "_id": chat_id.as_str(), "creation_id": creation_id })
            .projection(doc! { "_id": 1 })
            .await?;
        match found {
            Some(_) => Ok(()),
            None => Err(StoreError::ChatExists(chat_id.clone()).into()),
        }
    }

    async fn move_chat(
        &self,
        scope: &Scope,
        chat: &ChatSession,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<Option<ChatSession>, Failure> {
        let now = self.inner.clock.now();
        let end = ended(chat.created_at, next, now);
        let mut filter = writable_chat(scope, &chat.chat_id);
        filter.insert("status", chat.status.number());
        let update = doc! { "$set": {
            "status": next.number(),
            "status_reason": kept_reason(next, reason),
            "completed_at": end.completed_at.map(DateTime::from_chrono),
            "duration_sec": end.duration_sec,
            "last_updated_at": DateTime::from_chrono(now),
        } };
        let moved = self
            .inner
            .chat_sessions
            .find_one_and_update(filter, update)
            .projection(without_bulk())
            .return_document(ReturnDocument::After)
            .await?;
        Ok(moved.map(|raw| chat_session_record(&raw)).transpose()?)
    }

    /// Says why a write found no session to change: it is not there, or not ours to change.
    pub(super) async fn why_not_writable(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Failure, Failure> {
        let raw = self.session_within(scope, chat_id, Tail::projection()).await?;
        open_chat_session(&raw)?;
        Ok(StoreError::ChatNotFound(chat_id.clone()).into())
    }

    /// Reads some fields of a session document, durable ones only.
    pub(super) async fn session_within(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        projection: Document,
    ) -> Result<RawDocumentBuf, Failure> {
        let find = self.inner.chat_sessions.find_one(visible_chat(scope, chat_id));
        let raw = find.projection(projection).await?;
        raw.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()).into())
    }
}

fn without_bulk() -> Document {
    WITHOUT_BULK.into_iter().map(|field| (field.to_owned(), Bson::Int32(0))).collect()
}

fn list_query(scope: &Scope, filter: &ChatFilter, after: Option<&Cursor>) -> Document {
    let mut query = visible_chats(scope);
    if let Some(workflow_name) = &filter.workflow_name {
        query.insert("workflow_name", workflow_name.as_str());
    }
    if let Some(user_id) = &filter.user_id {
        query.insert("user_id", user_id.as_str());
    }
    if let Some(status) = filter.status {
        query.insert("status", status.number());
    }
    let mut created = Document::new();
    if let Some(from) = filter.created_from {
        created.insert("$gte", DateTime::from_chrono(from));
    }
    if let Some(before) = filter.created_before {
        created.insert("$lt", DateTime::from_chrono(before));
    }
    if let Some(after) = after {
        let at = DateTime::from_chrono(after.created_at);
        created.insert("$lte", at);
        let later_ids = doc! { "created_at": at, "_id": { "$lt": after.chat_id.as_str() } };
        let position = vec![doc! { "created_at": { "$lt": at } }, later_ids];
        query.insert("$and", vec![doc! { "$or": position }]);
    }
    if !created.is_empty() {
        query.insert("created_at", created);
    }
    query
}
