use std::collections::HashSet;

use async_trait::async_trait;
use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::future::try_join_all;
use mongodb::options::ReturnDocument;
use records::{
    AppId, AssistantId, ChatId, ChatSession, ChatStatus, Lifecycle, MetadataFilter, NewChatSession,
    Scope, SessionChange, StatusChange, Tally, TeamId, TurnOutcome, UserId, WorkflowName,
    minute_of,
};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collections::{
    ACTIVE_MINUTE, FIRST_PENDING_INPUT, FORKED_FROM, IS_LISTED, LAST_TURN_OUTCOME, MEMBERS_PATH,
    session_index,
};
use crate::mongo::documents::{
    Attribute, ChatSessionDocument, LIFECYCLE, StatusChangeDocument, TITLE_KEY, Tail,
    WITHOUT_LARGE_FIELDS, chat_session_record, encode, open_chat_session, status_change_id,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::SortedFind;
use crate::mongo::engine::marks::with_mark;
use crate::mongo::engine::scope::{depends_on_chat, listed_chats, permitted_chat, writable_chat};
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::stats::Counted;
use crate::rules::audit::{Audited, status_action};
use crate::rules::fence::check_fence;
use crate::rules::lists::{ListRange, ServedList, serving_lists};
use crate::rules::new_chat::{changes_pause_reason, moved, started};
use crate::store::{
    ChatCount, ChatFilter, ChatOrder, ChatSessions, Direction, ListCursor, Page, Position,
};

#[async_trait]
impl ChatSessions for MongoStore {
    async fn create_chat(
        &self,
        scope: &Scope,
        new: NewChatSession,
    ) -> Result<ChatSession, StoreError> {
        self.observe(Call::CreateChat, None, async {
            new.check()?;
            let chat = started(scope, new, &*self.inner.clock, &*self.inner.ids);
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
                let chat = call.transact(&scope, &chat_id, round).await?;
                call.notify_change(&chat_id);
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

/// A change of the status of a session.
struct NewStatus {
    status: ChatStatus,
    reason: Option<String>,
    /// Identifies the call, so that a retry recognises its own write.
    change_id: String,
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

    /// Reads the lists that together make one.
    pub(crate) async fn read_lists<T, F>(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
        read: impl Fn(&'static ServedList) -> F,
    ) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<Vec<T>, Failure>>,
    {
        // Lists of no lifecycle are empty.
        let lists = match shown_lifecycles(scope, filter).next() {
            Some(_) => lists,
            None => &[],
        };
        let read = self.read(|| async {
            match filter.order {
                ChatOrder::Created => {}
                ChatOrder::Active => self.require(Shape::ListsByActivity).await?,
                ChatOrder::Title | ChatOrder::Sort => self.require(Shape::ListsByTitle).await?,
            }
            if filter.title_contains.is_some() {
                self.require(Shape::TitleSearch).await?;
            }
            if let Some(metadata) = &filter.metadata {
                self.require(Shape::MetadataLists).await?;
                // Each list that is read checks it, too, at its moment.
                if lists.is_empty() {
                    self.check_indexed(&scope.app_id, metadata).await?;
                }
            }
            try_join_all(lists.iter().copied().map(&read)).await
        });
        Ok(read.await?.into_iter().flatten().collect())
    }

    /// Lists the first chats of a range, and one more.
    async fn list_within(
        &self,
        list: &ServedList,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Vec<ChatSession>, Failure> {
        let query = list_filter(scope, filter, list.range);
        let limit = limit.saturating_add(1);
        let read = ListRead::of(scope, filter, after);
        let found = self.rows_within(list, &query, read, limit, without_large_fields()).await?;
        found.iter().map(|raw| Ok(chat_session_record(raw)?)).collect()
    }

    /// Reads fields of the first sessions of a range that match a query.
    pub(crate) async fn rows_within(
        &self,
        list: &ServedList,
        query: &Document,
        read: ListRead<'_>,
        limit: usize,
        projection: Document,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let mut rows = Vec::new();
        for (filter, sort) in read.queries(query) {
            let find = SortedFind {
                filter,
                sort,
                index: session_index(list.index),
                limit: limit - rows.len(),
                projection: projection.clone(),
            };
            rows.extend(self.listed_rows(find, read.metadata).await?);
            if rows.len() >= limit {
                break;
            }
        }
        Ok(rows)
    }

    /// Returns the ids of the first chats of a range in an order, read from the index alone where it has all that the filter names.
    pub(crate) async fn listed_ids(
        &self,
        list: &ServedList,
        scope: &Scope,
        filter: &ChatFilter,
        sort: Document,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let query = list_filter(scope, filter, list.range);
        let (index, projection) = (session_index(list.index), doc! { "_id": 1 });
        let find = SortedFind { filter: query, sort, index, limit, projection };
        let found = self.listed_rows(find, by_metadata(scope, filter)).await?;
        Ok(found.iter().filter_map(|raw| raw.get_str("_id").ok().map(str::to_owned)).collect())
    }

    async fn listed_rows(
        &self,
        find: SortedFind,
        metadata: Option<(&AppId, &MetadataFilter)>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        match metadata {
            None => find.read(&self.inner.chat_sessions).await,
            Some((app_id, metadata)) => self.indexed_rows(find, app_id, metadata).await,
        }
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

    async fn set_status_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        chat_id: &ChatId,
        new: &NewStatus,
    ) -> Result<Round<ChatSession>, Failure> {
        let chat = self.known_chat(scope, chat_id).await?;
        let (next, reason) = (new.status, new.reason.as_deref());
        if !tx.is_first() {
            let has_status_change = self.has_status_change(scope, chat_id, &new.change_id).await?;
            let is_written = self.was_written(tx.attempt(), scope, chat_id, &new.change_id).await?;
            if has_status_change || is_written {
                return Ok(Round::Done(chat));
            }
        }
        if changes_pause_reason(&chat, next, reason) {
            let paused = self.change_pause_reason(scope, &chat, reason, &new.change_id).await?;
            return Ok(Round::of(paused));
        }
        if chat.status == next {
            return Ok(Round::Done(chat));
        }
        if !chat.status.may_become(next) {
            let (chat_id, from, to) = (chat_id.clone(), chat.status, next);
            return Err(StoreError::IllegalTransition { chat_id, from, to }.into());
        }
        let audited = status_action(chat.status, next);
        let audited = audited.map(|action| Audited::in_scope(scope, Some(chat_id), action));
        let entry = self.audit_document_of(audited.as_ref()).await?;
        tx.begin_counted(&chat).await?;
        let moved = moved(&chat, next, reason, self.inner.clock.now());
        let moved = self.change_status_within(&tx, scope, &chat, &moved, &new.change_id).await?;
        if let (Some(_), Some(entry)) = (&moved, &entry) {
            self.insert_audit_document(&tx, entry).await?;
        }
        Ok(Round::of(moved))
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

    /// Sets a new reason for a paused chat; `None` if the chat has changed since it was read.
    async fn change_pause_reason(
        &self,
        scope: &Scope,
        chat: &ChatSession,
        reason: Option<&str>,
        mark: &str,
    ) -> Result<Option<ChatSession>, Failure> {
        let mut filter = writable_chat(scope, &chat.chat_id);
        filter.insert("status", chat.status.number());
        filter.insert("status_reason", chat.status_reason.as_deref());
        let now = DateTime::from_chrono(self.inner.clock.now());
        let mut update = doc! { "$set": { "status_reason": reason, "last_updated_at": now } };
        with_mark(mark, &mut filter, &mut update);
        self.updated_session(None, filter, update).await
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

    /// Returns whether an earlier attempt has changed the status.
    async fn has_status_change(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change_id: &str,
    ) -> Result<bool, Failure> {
        let id = status_change_id(chat_id, change_id);
        let one = doc! { "_id": id, "app_id": scope.app_id.as_str() };
        Ok(self.inner.status_changes.find_one(one).await?.is_some())
    }

    /// Changes the status of a chat within a transaction, and counts it; `None` if the chat has changed
    /// since it was read.
    pub(crate) async fn change_status_within(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        chat: &ChatSession,
        moved: &ChatSession,
        change_id: &str,
    ) -> Result<Option<ChatSession>, Failure> {
        let mut filter = writable_chat(scope, &chat.chat_id);
        filter.insert("status", chat.status.number());
        filter.insert("duration_sec", chat.duration_sec);
        let mut set = doc! {
            "status": moved.status.number(),
            "status_reason": moved.status_reason.as_deref(),
            "completed_at": moved.completed_at.map(DateTime::from_chrono),
            "duration_sec": moved.duration_sec,
            "last_updated_at": DateTime::from_chrono(moved.last_updated_at),
        };
        if moved.status.is_ended() {
            set.insert("lease", Bson::Null);
        } else if let Some(lease) = chat.lease.as_ref().filter(|_| moved.lease.is_none()) {
            // The update must not match if the owner has renewed the lease since.
            filter.insert("lease.expires_at", DateTime::from_chrono(lease.expires_at));
            set.insert("lease", Bson::Null);
        }
        let update = doc! { "$set": set };
        // This update comes first, so that concurrent appends wait for the transaction, and not the
        // reverse.
        let updated = self.updated_session(Some(tx), filter, update).await?;
        let Some(mut updated) = updated else { return Ok(None) };
        let change = StatusChange {
            chat_id: chat.chat_id.clone(),
            from: chat.status,
            to: moved.status,
            changed_at: moved.last_updated_at,
        };
        let (app_id, workflow_name) = (&chat.app_id, &chat.workflow_name);
        let document = StatusChangeDocument::new(app_id, workflow_name, &change, change_id);
        let document = encode(&document)?;
        let insert = self.inner.status_changes.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        self.keep_webhook_event(&updated, change_id, tx).await?;
        let mut tally = Tally::default();
        tally.chat(chat, -1);
        tally.chat(moved, 1);
        tally.status_change(&change);
        self.count(&Counted::of(chat), tally, tx).await?;
        if updated.status.is_ended() {
            self.end_inputs(&mut updated, tx).await?;
        }
        Ok(Some(updated))
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
        let now = DateTime::from_chrono(self.inner.clock.now());
        let touch = doc! { "$set": { "last_updated_at": now } };
        let touch = self.inner.chat_sessions.update_one(writable_chat(scope, chat_id), touch);
        if touch.session(&mut *tx.session().await?).await?.matched_count == 0 {
            return Err(self.classify_unmatched(scope, chat_id).await?);
        }
        Ok(())
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

/// Returns the lifecycles of the chats that a list shows.
fn shown_lifecycles(scope: &Scope, filter: &ChatFilter) -> impl Iterator<Item = Lifecycle> {
    let is_shown = |it: &Lifecycle| scope.finds(*it) && filter.has_lifecycle(*it);
    Lifecycle::ALL.into_iter().filter(is_shown)
}

/// Returns the condition that a list has for the lifecycle: the values that are stored for those that it shows.
fn lifecycle_condition(scope: &Scope, filter: &ChatFilter) -> Document {
    // An active chat has no lifecycle.
    let stored = shown_lifecycles(scope, filter).map(|lifecycle| match lifecycle {
        Lifecycle::Active => Bson::Null,
        other => other.number().into(),
    });
    doc! { "$in": stored.collect::<Vec<_>>() }
}

/// Returns the filter for the chats of a list that are in a range of an index.
///
/// It names each value of lifecycle and status. The server then merges small scans, each in the order of the list, and reads
/// no chat that the list leaves out.
pub(crate) fn list_filter(scope: &Scope, filter: &ChatFilter, range: ListRange) -> Document {
    let mut query = listed_chats(scope, range);
    // Every user of the app finds them.
    if filter.of_app {
        query.insert(IS_LISTED, true);
    }
    query.insert(LIFECYCLE, lifecycle_condition(scope, filter));
    let statuses = match filter.statuses.as_slice() {
        [] => ChatStatus::ALL.as_slice(),
        some => some,
    };
    let statuses: Vec<i32> = statuses.iter().map(|status| status.number()).collect();
    query.insert("status", doc! { "$in": statuses });
    if let Some(metadata) = filter.metadata.as_ref().filter(|_| range == ListRange::Metadata) {
        query.extend(Attribute::of(metadata).condition());
    }
    // In conditions of their own, because the range may set the same field.
    let named = [
        ("workflow_name", filter.workflow_name.as_ref().map(WorkflowName::as_str)),
        ("user_id", filter.user_id.as_ref().map(UserId::as_str)),
        (MEMBERS_PATH, filter.member.as_ref().map(UserId::as_str)),
        ("team_id", filter.team_id.as_ref().map(TeamId::as_str)),
        ("assistant_id", filter.assistant_id.as_ref().map(AssistantId::as_str)),
        (LAST_TURN_OUTCOME, filter.last_turn_outcome.map(TurnOutcome::as_str)),
        (FORKED_FROM, filter.forked_from.as_ref().map(ChatId::as_str)),
    ];
    let named = named.into_iter().filter_map(|(field, value)| Some(doc! { field: value? }));
    let mut conditions: Vec<Document> = named.collect();
    if filter.needs_input {
        conditions.push(doc! { FIRST_PENDING_INPUT: { "$exists": true } });
    }
    let from = |at| doc! { "$gte": DateTime::from_chrono(at) };
    let before = |at| doc! { "$lt": DateTime::from_chrono(at) };
    let times = [
        ("created_at", filter.created_from.map(from)),
        ("created_at", filter.created_before.map(before)),
        (ACTIVE_MINUTE, filter.active_from.map(minute_of).map(from)),
        (ACTIVE_MINUTE, filter.active_before.map(minute_of).map(before)),
    ];
    let times = times.into_iter().filter_map(|(field, time)| Some(doc! { field: time? }));
    conditions.extend(times);
    if !conditions.is_empty() {
        query.insert("$and", conditions);
    }
    query
}

/// How the sessions of a range are read: in which order, and after which position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ListRead<'a> {
    pub(crate) order: ChatOrder,
    pub(crate) direction: Direction,
    pub(crate) after: Option<&'a ListCursor>,
    /// The app and the value, if the list is by a value of the metadata.
    pub(crate) metadata: Option<(&'a AppId, &'a MetadataFilter)>,
}

impl<'a> ListRead<'a> {
    /// Returns how the chats of a list are read.
    pub(crate) fn of(
        scope: &'a Scope,
        filter: &'a ChatFilter,
        after: Option<&'a ListCursor>,
    ) -> Self {
        let metadata = by_metadata(scope, filter);
        Self { order: filter.order, direction: filter.direction(), after, metadata }
    }

    /// Returns the queries for the sessions, and how each is sorted.
    ///
    /// A minute, and every other value, may have any number of chats. One query for both ranges would read those before the
    /// position. Sorted by the value as well, the server would sort the rest of it in memory.
    fn queries(self, query: &Document) -> Vec<(Document, Document)> {
        let field = ordered_by(self.order);
        let (direction, beyond) = match self.direction {
            Direction::Ascending => (1, "$gt"),
            Direction::Descending => (-1, "$lt"),
        };
        let sort = doc! { field: direction, "_id": direction };
        let Some(ListCursor { position, chat_id }) = self.after else {
            return vec![(query.clone(), sort)];
        };
        let at = stored_position(position);
        let same = doc! { field: at.clone(), "_id": { beyond: chat_id.as_str() } };
        let within = doc! { "$and": [query, same] };
        let others = doc! { "$and": [query, { field: { beyond: at } }] };
        vec![(within, doc! { "_id": direction }), (others, sort)]
    }
}

fn by_metadata<'a>(
    scope: &'a Scope,
    filter: &'a ChatFilter,
) -> Option<(&'a AppId, &'a MetadataFilter)> {
    filter.metadata.as_ref().map(|metadata| (&scope.app_id, metadata))
}

/// Returns the field that lists in an order are sorted by, before the id.
fn ordered_by(order: ChatOrder) -> &'static str {
    match order {
        ChatOrder::Created => "created_at",
        ChatOrder::Active => ACTIVE_MINUTE,
        ChatOrder::Title => TITLE_KEY,
        ChatOrder::Sort => "sort",
    }
}

/// Returns the value of that field at a position.
fn stored_position(position: &Position) -> Bson {
    match position {
        Position::Created(at) | Position::Active(at) => DateTime::from_chrono(*at).into(),
        Position::Title(key) => key.as_str().into(),
        Position::Sort(sort) => (*sort).into(),
    }
}
