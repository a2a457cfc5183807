//! Which stored shapes may be written: only those that every process still running can read
//! (decision 0026).
//!
//! The database has a *format*, a number that only grows. Every release reads all formats up to its
//! newest one. It writes a shape that older releases cannot read only if the database has reached
//! the format of that shape, and marks each document of that shape with that `schema_version`. An
//! older process refuses such a document instead of misreading it.

use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use bson::{DateTime, doc};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::STORE_FORMAT;
use crate::mongo::collections::COLLECTIONS;
use crate::mongo::documents::{
    FormatDocument, NEWEST_VERSION, SALTED_VERSION, SCHEMA_VERSION, USER_USAGE_VERSION, encode,
    format_filter, format_number,
};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::rules::stored_digest::Salting;

/// A stored shape that older releases cannot read, or do not keep current.
///
/// A new shape needs a variant here and a line in [`ALL`](Self::ALL), [`format`](Self::format) and
/// [`name`](Self::name). [`NEWEST_VERSION`] is the greatest format of all shapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Chats that share sealed messages: `bases` and `shared_below`.
    Forks,
    /// Chats that are deleted or purged: `lifecycle`. An older release would still show them and append to them.
    DeletedChats,
    /// The minute of the last activity in every chat: `active_minute`. An older release does not write it, so that lists in
    /// its order would lack chats. No document is marked for it.
    ListsByActivity,
    /// The trigrams of every title: `title_trigrams`, in the same way.
    TitleSearch,
    /// Digests with a salt: `salt`. An older release would compare them as if they had none (decision 0048).
    Salts,
    /// The key of every title, and the `sort` of every chat: `title_key`, in the same way.
    ListsByTitle,
    /// The search index. An older release does not remove from it what it erases or purges. No document is marked for it.
    MessageSearch,
    /// The attributes of chats: `attrs`. An older release neither changes them with the metadata nor removes them in a purge. No
    /// document is marked for it.
    MetadataLists,
    /// Rollups that name a user: `user_id`. An older release would not count the calls of a chat for its user.
    UserUsage,
    /// The usage of every user. It is complete once the chats of earlier releases were counted, too. No document is marked for
    /// it.
    CompleteUserUsage,
    /// The runs of tools: `tool_runs`. An older release does not remove them with their chat. No document is marked for it.
    ToolRuns,
    /// The assistants of apps: `assistants`. An older release does not erase those of a person. No document is marked for it.
    Assistants,
    /// The documents of apps: `documents`. An older release does not remove them with their chat. No document is marked for it.
    Documents,
    /// Streams: `streams` and `stream_groups`. An older release does not remove them with their chat. No document is
    /// marked for it.
    Streams,
    /// The chains of chats: `integrity_chains` and `integrity_blocks`. An older release neither forgets their salts nor removes
    /// them with their chat, and does not tag what it changes.
    Integrity,
    /// A tag in every message. An older release appends messages without one, so that those cannot be told from forged ones. No
    /// document is marked for it, and tags are written in every format.
    MessageTags,
}

impl Shape {
    /// Every shape, in the order of the formats.
    pub(crate) const ALL: [Self; 16] = [
        Self::Forks,
        Self::DeletedChats,
        Self::ListsByActivity,
        Self::TitleSearch,
        Self::Salts,
        Self::ListsByTitle,
        Self::MessageSearch,
        Self::MetadataLists,
        Self::UserUsage,
        Self::CompleteUserUsage,
        Self::ToolRuns,
        Self::Assistants,
        Self::Documents,
        Self::Streams,
        Self::Integrity,
        Self::MessageTags,
    ];

    /// Returns the first format in which the shape is written. It is also the `schema_version` of
    /// each document of that shape.
    pub(crate) const fn format(self) -> i64 {
        match self {
            Self::Forks => 2,
            Self::DeletedChats | Self::ListsByActivity | Self::TitleSearch => 3,
            Self::Salts => SALTED_VERSION,
            Self::ListsByTitle | Self::MessageSearch | Self::MetadataLists => 4,
            Self::UserUsage => USER_USAGE_VERSION,
            Self::CompleteUserUsage => 6,
            Self::ToolRuns => 7,
            Self::Assistants => 8,
            Self::Documents => 9,
            Self::Streams => 10,
            Self::Integrity => 11,
            Self::MessageTags => 12,
        }
    }

    /// Returns the name for errors and reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Forks => "forks",
            Self::DeletedChats => "deleted chats",
            Self::ListsByActivity => "lists by activity",
            Self::TitleSearch => "title search",
            Self::Salts => "salts",
            Self::ListsByTitle => "lists by title",
            Self::MessageSearch => "message search",
            Self::MetadataLists => "lists by metadata",
            Self::UserUsage => "usage of users",
            Self::CompleteUserUsage => "statistics of users",
            Self::ToolRuns => "runs of tools",
            Self::Assistants => "assistants",
            Self::Documents => "documents",
            Self::Streams => "streams",
            Self::Integrity => "integrity",
            Self::MessageTags => "tags of messages",
        }
    }
}

/// How long a format is believed by calls that may learn late that an upgrade is finished.
const BELIEVED_FOR: Duration = Duration::from_secs(1);

/// The newest format of the database that this process has seen; 0 before the first read.
#[derive(Debug, Default)]
pub(crate) struct KnownFormat {
    newest: AtomicI64,
    read_at: Mutex<Option<Instant>>,
}

impl KnownFormat {
    fn get(&self) -> i64 {
        self.newest.load(Ordering::Relaxed)
    }

    /// Returns whether the format was read a moment ago. If not, the caller reads it, and others need not.
    fn is_recent(&self) -> bool {
        let mut read_at = self.read_at.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = read_at.is_some_and(|read_at| read_at.elapsed() < BELIEVED_FOR);
        if !is_recent {
            *read_at = Some(Instant::now());
        }
        is_recent
    }
}

impl MongoStore {
    /// Returns whether documents of a shape may be written.
    ///
    /// This needs no read once the database has reached the format of the shape. Until then every
    /// call reads one document, so that a finished upgrade takes effect at once.
    pub(crate) async fn writes(&self, shape: Shape) -> Result<bool, Failure> {
        Ok(self.format_from(shape.format()).await? >= shape.format())
    }

    /// Returns whether salts are written (decision 0048). Until the upgrade is finished, this reads the format at most once a
    /// second: learning late that salts may be written does no harm, and every append asks.
    pub(crate) async fn salting(&self) -> Result<Salting, Failure> {
        let format = &self.inner.format;
        let is_known =
            format.get() >= Shape::Salts.format() || format.get() > 0 && format.is_recent();
        let is_written = if is_known {
            format.get() >= Shape::Salts.format()
        } else {
            self.writes(Shape::Salts).await?
        };
        Ok(if is_written { Salting::Random } else { Salting::None })
    }

    /// Refuses a call that needs a shape, unless documents of that shape may be written.
    pub(crate) async fn require(&self, shape: Shape) -> Result<(), Failure> {
        if self.writes(shape).await? {
            return Ok(());
        }
        let (needed, stored) = (shape.format(), self.inner.format.get());
        Err(StoreError::UpgradePending { shape: shape.name(), needed, stored }.into())
    }

    /// Reads the format of the database once.
    ///
    /// Each call that may store the first document of a database begins with this: afterwards a new
    /// database cannot be distinguished from one of an older release.
    pub(crate) async fn read_format_once(&self) -> Result<(), Failure> {
        self.format_from(SCHEMA_VERSION).await.map(drop)
    }

    /// Returns the format of the database. A remembered format of at least `enough` is returned
    /// without a read, because the format never decreases.
    async fn format_from(&self, enough: i64) -> Result<i64, Failure> {
        let known = self.inner.format.get();
        if known >= enough {
            return Ok(known);
        }
        let stored = self.stored_format().await?;
        self.inner.format.newest.fetch_max(stored, Ordering::Relaxed);
        Ok(stored)
    }

    /// Reads the format of the database. In a new database it stores the newest format first.
    pub(crate) async fn stored_format(&self) -> Result<i64, Failure> {
        loop {
            if let Some(format) = self.find_format().await? {
                return Ok(format);
            }
            let now = DateTime::from_chrono(self.inner.clock.now());
            let first = encode(&FormatDocument::new(NEWEST_VERSION, now))?;
            match self.inner.store_format.insert_one(first).await {
                Ok(_) => return Ok(NEWEST_VERSION),
                // Another process has stored it.
                Err(error) if is_duplicate_key(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// Reads the format of the database; `None` for a new database.
    pub(crate) async fn find_format(&self) -> Result<Option<i64>, Failure> {
        if let Some(raw) = self.inner.store_format.find_one(format_filter()).await? {
            return Ok(Some(format_number(&raw)?));
        }
        // A collection without documents counts as well, because a running process has created it.
        let ours = COLLECTIONS.iter().map(|stored| stored.name);
        let ours: Vec<&str> = ours.filter(|name| *name != STORE_FORMAT).collect();
        let ours = doc! { "name": { "$in": ours } };
        let traces = self.inner.database.list_collection_names().filter(ours).await?;
        Ok((!traces.is_empty()).then_some(SCHEMA_VERSION))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_is_that_of_the_newest_shape() {
        let formats = Shape::ALL.map(Shape::format);
        assert!(formats.is_sorted() && formats.iter().all(|format| *format > SCHEMA_VERSION));
        assert_eq!(formats.last(), Some(&NEWEST_VERSION));
    }
}
