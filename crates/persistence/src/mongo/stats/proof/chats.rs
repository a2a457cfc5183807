//! Compares chats with their own rollups.

use std::collections::{HashMap, HashSet};

use bson::{Bson, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use records::{
    ChatId, ChatSession, Lifecycle, Rollup, RollupKey, Subject, Tally, Usage, UserId, hour_of,
};

use super::{ChatOff, Position, Verification, Workflow, chats_of_workflow};
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::documents::{
    CHAT, StoredRollup, call_record, chat_session_record, open_call, rollup_id,
    status_change_record,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::older_than;
use crate::mongo::engine::snapshot::{Query, Snapshot};
use crate::store::Cursor;

/// How many chats are compared at a time. Only the sums of their calls are in memory.
const CHATS: i64 = 200;

/// How many rollups of chats are checked at a time.
const ROLLUPS: i64 = 1_000;

/// The stored rollup of each chat.
type Kept = HashMap<ChatId, ChatRollup>;

impl Verification<'_> {
    /// Compares one page of chats, newest first.
    pub(super) async fn compare_chats(
        &mut self,
        after: Option<Cursor>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let chats = self.chats(after, snapshot).await?;
        let Some(last) = chats.last() else {
            self.position = Position::ChatRollups(None);
            return Ok(());
        };
        let next = Cursor { created_at: last.created_at, chat_id: last.chat_id.clone() };
        let ids: Vec<&ChatId> = chats.iter().map(|chat| &chat.chat_id).collect();
        let mut kept = self.kept(&ids, snapshot).await?;
        let mut usages = self.usages(&ids, snapshot).await?;
        let without_status_change = self.ended_without_status_change(&chats, snapshot).await?;
        let counts_for_owners = self.counts_for_owners().await?;
        for chat in chats {
            let mut tally = Tally::default();
            tally.chat(&chat, 1);
            let usage = usages.remove(&chat.chat_id).unwrap_or_default();
            tally.chat_usage(&chat.chat_id, &usage);
            let key = RollupKey { subject: Subject::Chat(chat.chat_id.clone()), hour: None };
            let expected = tally.finish().remove(&key).unwrap_or_default();
            let (kept, started_at, user_id) = match kept.remove(&chat.chat_id) {
                Some(ChatRollup { sums, started_at, user_id, .. }) => (sums, started_at, user_id),
                None => Default::default(),
            };
            let created_at = Some(chat.created_at);
            // Only its rollup knows whose a purged chat was.
            let has_owner = counts_for_owners && chat.lifecycle != Lifecycle::Purged;
            let is_wrong_user = has_owner && user_id != chat.user_id;
            let off = ChatOff {
                missing_start: created_at.filter(|_| started_at != created_at),
                wrong_user: is_wrong_user.then_some([user_id, chat.user_id]),
            };
            self.report(key, kept, expected, off);
        }
        for (hour, chat_id) in without_status_change {
            self.without_status_change.entry(hour).or_default().insert(chat_id);
        }
        self.position = Position::Chats(Some(next));
        Ok(())
    }

    /// Checks that each rollup of one page has a chat.
    pub(super) async fn compare_chat_rollups(
        &mut self,
        after: Option<ChatId>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let query = Query {
            filter: self.rollups_after(CHAT, after.as_ref().map(ChatId::as_str)),
            sort: Some(doc! { "_id": 1 }),
            limit: Some(ROLLUPS),
            ..Query::default()
        };
        let mut found = snapshot.find(&self.store.inner.workflow_stats, query).await?;
        let mut kept: Vec<(ChatId, Rollup)> = Vec::new();
        while let Some(raw) = snapshot.next(&mut found).await? {
            kept.extend(chat_rollup(&raw)?.map(|rollup| (rollup.chat_id, rollup.sums)));
        }
        let Some((last, _)) = kept.last() else {
            self.position = Position::Hours(DateTime::<Utc>::MIN_UTC);
            return Ok(());
        };
        let last = last.clone();
        let there = self.existing_chats(kept.iter().map(|(chat_id, _)| chat_id), snapshot).await?;
        kept.retain(|(chat_id, _)| !there.contains(chat_id));
        let ids: Vec<&ChatId> = kept.iter().map(|(chat_id, _)| chat_id).collect();
        let mut usages = self.usages(&ids, snapshot).await?;
        for (chat_id, kept) in kept {
            let usage = usages.remove(&chat_id).unwrap_or_default();
            let key = RollupKey { subject: Subject::Chat(chat_id), hour: None };
            self.report(key, kept, Rollup::from_usage(&usage), ChatOff::default());
        }
        self.position = Position::ChatRollups(Some(last));
        Ok(())
    }

    async fn chats(
        &self,
        after: Option<Cursor>,
        snapshot: &mut Snapshot,
    ) -> Result<Vec<ChatSession>, Failure> {
        let mut filter = self.records();
        if let Some(Cursor { created_at, chat_id }) = after {
            let older = older_than("created_at", created_at, "_id", chat_id.as_str());
            filter.insert("$and", older.to_vec());
        }
        let query = Query {
            filter,
            projection: Some(without_large_fields()),
            sort: Some(doc! { "created_at": -1, "_id": -1 }),
            index: Some(chats_of_workflow()),
            limit: Some(CHATS),
        };
        let mut found = snapshot.find(&self.store.inner.chat_sessions, query).await?;
        let mut chats = Vec::new();
        while let Some(raw) = snapshot.next(&mut found).await? {
            chats.push(chat_session_record(&raw)?);
            (self.read)();
        }
        Ok(chats)
    }

    pub(super) async fn kept(
        &self,
        chats: &[&ChatId],
        snapshot: &mut Snapshot,
    ) -> Result<Kept, Failure> {
        let Workflow { app_id, workflow_name } = self.workflow;
        let ids: Vec<_> = chats
            .iter()
            .map(|chat_id| {
                let subject = Subject::Chat((*chat_id).clone());
                rollup_id(app_id, workflow_name, &RollupKey { subject, hour: None }, 0)
            })
            .collect();
        let query = Query { filter: doc! { "_id": { "$in": ids } }, ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.workflow_stats, query).await?;
        let mut kept = Kept::new();
        while let Some(raw) = snapshot.next(&mut found).await? {
            kept.extend(chat_rollup(&raw)?.map(|rollup| (rollup.chat_id.clone(), rollup)));
        }
        Ok(kept)
    }

    /// Sums the calls of each chat.
    async fn usages(
        &self,
        chats: &[&ChatId],
        snapshot: &mut Snapshot,
    ) -> Result<HashMap<ChatId, Usage>, Failure> {
        let mut usages: HashMap<ChatId, Usage> = HashMap::new();
        if chats.is_empty() {
            return Ok(usages);
        }
        let ids: Vec<&str> = chats.iter().map(|chat_id| chat_id.as_str()).collect();
        let mut filter = self.records();
        filter.insert("_id.chat_id", doc! { "$in": ids });
        let query = Query { filter, ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.provider_calls, query).await?;
        while let Some(raw) = snapshot.next(&mut found).await? {
            let fields = open_call(&raw)?;
            let call = call_record(&fields)?.call;
            let chat_id = fields.inside(fields.document("_id")?).parsed("chat_id")?;
            usages.entry(chat_id).or_default().add(&call);
            (self.read)();
        }
        Ok(usages)
    }

    /// Returns the chats without a status change in the hour in which they ended, and that hour.
    async fn ended_without_status_change(
        &self,
        chats: &[ChatSession],
        snapshot: &mut Snapshot,
    ) -> Result<Vec<(DateTime<Utc>, ChatId)>, Failure> {
        let ended: Vec<_> = chats.iter().filter(|chat| chat.status.is_ended()).collect();
        if ended.is_empty() {
            return Ok(Vec::new());
        }
        let moves = ended.iter().map(|chat| {
            let chat_id = chat.chat_id.as_str();
            let last = doc! { "chat_id": chat_id, "change_id": Bson::MaxKey };
            doc! { "_id": { "$gt": { "chat_id": chat_id }, "$lt": last } }
        });
        let filter = doc! { "$or": moves.collect::<Vec<_>>() };
        let query = Query { filter, ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.status_changes, query).await?;
        let mut ends_told = HashSet::new();
        while let Some(raw) = snapshot.next(&mut found).await? {
            let change = status_change_record(&raw)?;
            if change.to.is_ended() {
                ends_told.insert((hour_of(change.changed_at), change.chat_id));
            }
        }
        let ends = ended.iter().map(|chat| (hour_of(chat.ended_at()), chat.chat_id.clone()));
        Ok(ends.filter(|end| !ends_told.contains(end)).collect())
    }

    async fn existing_chats(
        &self,
        chats: impl Iterator<Item = &ChatId>,
        snapshot: &mut Snapshot,
    ) -> Result<HashSet<ChatId>, Failure> {
        let mut filter = self.records();
        filter.insert("_id", doc! { "$in": chats.map(ChatId::as_str).collect::<Vec<_>>() });
        let projection = Some(doc! { "_id": 1 });
        let query = Query { filter, projection, ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.chat_sessions, query).await?;
        let mut there = HashSet::new();
        while let Some(raw) = snapshot.next(&mut found).await? {
            there.extend(raw.get_str("_id").ok().and_then(|id| ChatId::parse(id).ok()));
        }
        Ok(there)
    }
}

/// The stored rollup of a chat.
pub(super) struct ChatRollup {
    pub(super) chat_id: ChatId,
    pub(super) sums: Rollup,
    /// When the chat was created, if the rollup has it.
    started_at: Option<DateTime<Utc>>,
    /// The user for whom the calls of the chat count.
    pub(super) user_id: Option<UserId>,
}

/// Reads the rollup of a chat.
pub(super) fn chat_rollup(raw: &RawDocumentBuf) -> Result<Option<ChatRollup>, Failure> {
    let stored = StoredRollup::read(raw)?;
    let Subject::Chat(chat_id) = &stored.key.subject else { return Ok(None) };
    let (chat_id, sums) = (chat_id.clone(), stored.sums()?);
    let StoredRollup { started_at, user_id, .. } = stored;
    Ok(Some(ChatRollup { chat_id, sums, started_at, user_id }))
}
