//! Compares the records of each hour with the rollups of that hour.

use std::collections::{BTreeMap, BTreeSet};

use bson::{DateTime as BsonTime, Document, RawDocumentBuf, doc};
use chrono::{DateTime, TimeDelta, Utc};
use mongodb::Collection;
use records::{ChatId, ProviderCall, Rollup, RollupKey, StatusChange, Tally, Usage, hour_of};
use tokio::time::Instant;

use super::{ChatOff, MAX_FOUND, Position, Verification, Workflow, chats_of_workflow};
use crate::StoreError;
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::documents::{
    AGENT, MODEL, StoredRollup, USER, WORKFLOW, call_record, chat_session_record, open_call,
    status_change_record,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::snapshot::{Query, Snapshot, SnapshotCursor};

/// How many chats that ended, or have calls, in an hour are read at a time.
const CHATS: usize = 500;

/// Reads a document and the time by which it is ordered.
type ReadTimed<T> = fn(&RawDocumentBuf) -> Result<(DateTime<Utc>, T), StoreError>;

/// Documents ordered by a time, with the next one read ahead.
struct Timeline<T> {
    found: SnapshotCursor,
    next: Option<(DateTime<Utc>, T)>,
    read: ReadTimed<T>,
}

/// All records that count for hours.
struct Timelines {
    calls: Timeline<(ChatId, ProviderCall)>,
    moves: Timeline<StatusChange>,
    starts: Timeline<()>,
    rollups: Timeline<(RollupKey, Rollup)>,
}

impl Verification<'_> {
    /// Compares hours from `from` until the time is over, at least one hour.
    pub(super) async fn compare_hours(
        &mut self,
        from: DateTime<Utc>,
        until: Instant,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let mut timelines = self.timelines(from, snapshot).await?;
        loop {
            let without_status_change =
                self.without_status_change.range(from..).next().map(|(hour, _)| *hour);
            let Some(hour) =
                timelines.first().into_iter().chain(without_status_change).min().map(hour_of)
            else {
                self.position = Position::Users(None);
                return Ok(());
            };
            self.compare_hour(hour, &mut timelines, snapshot).await?;
            let next = hour + TimeDelta::hours(1);
            self.without_status_change.remove(&hour);
            self.position = Position::Hours(next);
            if Instant::now() >= until || self.found.len() >= MAX_FOUND {
                return Ok(());
            }
        }
    }

    async fn compare_hour(
        &mut self,
        hour: DateTime<Utc>,
        timelines: &mut Timelines,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let end = hour + TimeDelta::hours(1);
        let mut tally = Tally::default();
        let mut usages: BTreeMap<ChatId, Usage> = BTreeMap::new();
        while let Some((chat_id, call)) = timelines.calls.next_before(end, snapshot).await? {
            tally.call(&call, 1);
            usages.entry(chat_id).or_default().add(&call);
            (self.read)();
        }
        self.tally_users(hour, &usages, &mut tally, snapshot).await?;
        while let Some(()) = timelines.starts.next_before(end, snapshot).await? {
            tally.start(hour, 1);
            (self.read)();
        }
        let mut ended = self.without_status_change.get(&hour).cloned().unwrap_or_default();
        while let Some(change) = timelines.moves.next_before(end, snapshot).await? {
            tally.status_change(&change);
            if change.to.is_ended() {
                ended.insert(change.chat_id);
            }
            (self.read)();
        }
        self.tally_chat_ends(hour, &ended, &mut tally, snapshot).await?;
        let mut kept: BTreeMap<RollupKey, Rollup> = BTreeMap::new();
        while let Some((key, rollup)) = timelines.rollups.next_before(end, snapshot).await? {
            kept.entry(key).or_default().merge(&rollup, 1);
        }
        for (key, expected) in tally.finish() {
            if key.hour == Some(hour) {
                let kept = kept.remove(&key).unwrap_or_default();
                self.report(key, kept, expected, ChatOff::default());
            }
        }
        // The remaining rollups have no records.
        for (key, kept) in kept {
            self.report(key, kept, Rollup::default(), ChatOff::default());
        }
        Ok(())
    }

    /// Counts the calls of an hour for the users of their chats, as the rollups of the chats say. The comparison of chats has
    /// proven these.
    async fn tally_users(
        &self,
        hour: DateTime<Utc>,
        usages: &BTreeMap<ChatId, Usage>,
        tally: &mut Tally,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let ids: Vec<&ChatId> = usages.keys().collect();
        for ids in ids.chunks(CHATS) {
            for (chat_id, rollup) in self.kept(ids, snapshot).await? {
                if let (Some(user_id), Some(usage)) = (&rollup.user_id, usages.get(&chat_id)) {
                    tally.user_usage(user_id, hour, usage, 1);
                }
            }
        }
        Ok(())
    }

    /// Counts the chats that ended in an hour and were not reopened since.
    async fn tally_chat_ends(
        &self,
        hour: DateTime<Utc>,
        chats: &BTreeSet<ChatId>,
        tally: &mut Tally,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let ids: Vec<&str> = chats.iter().map(ChatId::as_str).collect();
        for ids in ids.chunks(CHATS) {
            let mut filter = self.records();
            filter.insert("_id", doc! { "$in": ids });
            let projection = Some(without_large_fields());
            let query = Query { filter, projection, ..Query::default() };
            let mut found = snapshot.find(&self.store.inner.chat_sessions, query).await?;
            while let Some(raw) = snapshot.next(&mut found).await? {
                let chat = chat_session_record(&raw)?;
                if hour_of(chat.ended_at()) == hour {
                    tally.end(&chat, 1);
                }
            }
        }
        Ok(())
    }

    async fn timelines(
        &self,
        from: DateTime<Utc>,
        snapshot: &mut Snapshot,
    ) -> Result<Timelines, Failure> {
        let inner = &self.store.inner;
        let by = |field: &'static str| {
            let mut filter = self.records();
            filter.insert(field, since_filter(from));
            let sort = Some(doc! { field: 1 });
            Query { filter, sort, ..Query::default() }
        };
        let starts = Query {
            // The index covers this query.
            projection: Some(doc! { "_id": 0, "created_at": 1 }),
            index: Some(chats_of_workflow()),
            ..by("created_at")
        };
        let (calls, moves) = (&inner.provider_calls, &inner.status_changes);
        Ok(Timelines {
            calls: Timeline::open(calls, by("called_at"), read_call, snapshot).await?,
            moves: Timeline::open(moves, by("changed_at"), read_status_change, snapshot).await?,
            starts: Timeline::open(&inner.chat_sessions, starts, read_start, snapshot).await?,
            rollups: {
                let query = self.rollups_of_hours(from);
                Timeline::open(&inner.workflow_stats, query, read_rollup, snapshot).await?
            },
        })
    }

    fn rollups_of_hours(&self, from: DateTime<Utc>) -> Query {
        let Workflow { app_id, workflow_name } = self.workflow;
        let filter = doc! {
            "_id.app_id": app_id.as_str(),
            "_id.kind": { "$in": [WORKFLOW, AGENT, MODEL, USER] },
            "_id.workflow_name": workflow_name.as_str(),
            "_id.hour": since_filter(from),
        };
        Query { filter, sort: Some(doc! { "_id.hour": 1 }), ..Query::default() }
    }
}

impl Timelines {
    /// Returns the time of the first document.
    fn first(&self) -> Option<DateTime<Utc>> {
        let Self { calls, moves, starts, rollups } = self;
        [calls.at(), moves.at(), starts.at(), rollups.at()].into_iter().flatten().min()
    }
}

impl<T> Timeline<T> {
    async fn open(
        collection: &Collection<RawDocumentBuf>,
        query: Query,
        read: ReadTimed<T>,
        snapshot: &mut Snapshot,
    ) -> Result<Self, Failure> {
        let found = snapshot.find(collection, query).await?;
        let mut timeline = Self { found, next: None, read };
        timeline.advance(snapshot).await?;
        Ok(timeline)
    }

    fn at(&self) -> Option<DateTime<Utc>> {
        self.next.as_ref().map(|(at, _)| *at)
    }

    async fn next_before(
        &mut self,
        end: DateTime<Utc>,
        snapshot: &mut Snapshot,
    ) -> Result<Option<T>, Failure> {
        let Some((_, next)) = self.next.take_if(|(at, _)| *at < end) else { return Ok(None) };
        self.advance(snapshot).await?;
        Ok(Some(next))
    }

    async fn advance(&mut self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let raw = snapshot.next(&mut self.found).await?;
        self.next = raw.map(|raw| (self.read)(&raw)).transpose()?;
        Ok(())
    }
}

fn since_filter(from: DateTime<Utc>) -> Document {
    doc! { "$gte": BsonTime::from_chrono(from) }
}

fn read_call(raw: &RawDocumentBuf) -> Result<(DateTime<Utc>, (ChatId, ProviderCall)), StoreError> {
    let fields = open_call(raw)?;
    let call = call_record(&fields)?.call;
    let chat_id = fields.inside(fields.document("_id")?).parsed("chat_id")?;
    Ok((call.called_at, (chat_id, call)))
}

fn read_status_change(raw: &RawDocumentBuf) -> Result<(DateTime<Utc>, StatusChange), StoreError> {
    let change = status_change_record(raw)?;
    Ok((change.changed_at, change))
}

fn read_start(raw: &RawDocumentBuf) -> Result<(DateTime<Utc>, ()), StoreError> {
    let at = raw.get_datetime("created_at").map_err(|error| StoreError::Corrupt {
        collection: crate::mongo::collection_names::CHAT_SESSIONS,
        id: "(a chat)".to_owned(),
        field: "created_at".to_owned(),
        source: Some(error.into()),
    })?;
    Ok((at.to_chrono(), ()))
}

fn read_rollup(raw: &RawDocumentBuf) -> Result<(DateTime<Utc>, (RollupKey, Rollup)), StoreError> {
    let stored = StoredRollup::read(raw)?;
    let mut rollup = Rollup::default();
    stored.add_to(&mut rollup)?;
    let hour = stored.key.hour.unwrap_or_default();
    Ok((hour, (stored.key, rollup)))
}
