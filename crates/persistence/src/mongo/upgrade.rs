//! The end of a rolling upgrade: newer stored shapes are written from then on (decision 0026).

use bson::{Bson, DateTime, Document, RawBsonRef, RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{Lifecycle, minute_of, title_key};

use super::MongoStore;
use super::collection_names::STORE_FORMAT;
use super::documents::{
    LIFECYCLE, Lineage, NEWEST_VERSION, TITLE_KEY, TITLE_TRIGRAMS, format_filter,
    open_chat_session, raise_format_update, stored_trigrams,
};
use super::engine::format::Shape;
use crate::StoreError;

/// How many sessions are read at a time.
const PAGE: i64 = 200;

/// The format of a database, and the newest format of this release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatStatus {
    /// The format of the database.
    pub stored: i64,
    /// The newest format that this release reads and writes.
    pub newest: i64,
    /// The shapes that are not written until the upgrade is finished.
    pub pending: Vec<&'static str>,
}

/// The result of finishing an upgrade.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedUpgrade {
    /// The format of the database before.
    pub from: i64,
    /// The format of the database now.
    pub to: i64,
    /// How many chats with shared messages were marked: forks, and forks of forks, of releases
    /// without formats.
    pub marked: u64,
    /// How many chats of earlier releases were counted for their users.
    pub counted: u64,
}

impl FormatStatus {
    fn of(stored: i64) -> Self {
        let pending = Shape::ALL.into_iter().filter(|shape| shape.format() > stored);
        Self { stored, newest: NEWEST_VERSION, pending: pending.map(Shape::name).collect() }
    }
}

impl MongoStore {
    /// Returns the format of the database. In a new database it stores the newest format first.
    pub async fn format_status(&self) -> Result<FormatStatus, StoreError> {
        Ok(FormatStatus::of(self.read(|| self.stored_format()).await?))
    }

    /// Returns the format of the database, and stores nothing; `None` for a new database.
    pub async fn inspect_format(&self) -> Result<Option<FormatStatus>, StoreError> {
        Ok(self.read(|| self.find_format()).await?.map(FormatStatus::of))
    }

    /// Logs a warning if an upgrade is not finished, or if a newer release has upgraded the database.
    pub(super) async fn log_format(&self) -> Result<(), StoreError> {
        let FormatStatus { stored, newest, pending } = self.format_status().await?;
        if stored > newest {
            tracing::warn!(
                stored,
                newest,
                "the database is at a newer format than this release knows: documents of newer shapes \
                 are refused; upgrade this process"
            );
        } else if stored < newest {
            tracing::warn!(
                stored,
                newest,
                ?pending,
                "an upgrade is not finished: calls that need newer shapes are refused until \
                 `reprise upgrade --finish` is run"
            );
        }
        Ok(())
    }

    /// Raises the database to the newest format of this release.
    ///
    /// No process of an older release may run any more, because it refuses the documents of newer
    /// shapes from then on. The call may be repeated at any time, also after a failure. A database
    /// with a newer format than this release knows is
    /// [`UnsupportedVersion`](StoreError::UnsupportedVersion).
    pub async fn finish_upgrade(&self) -> Result<FinishedUpgrade, StoreError> {
        let FormatStatus { stored: from, newest: to, .. } = self.format_status().await?;
        if from > to {
            let (collection, id) = (STORE_FORMAT, "format".to_owned());
            return Err(StoreError::UnsupportedVersion {
                collection,
                id,
                found: from,
                supported: to,
            });
        }
        let marked = self.prepare_chats().await?;
        let mut counted = 0;
        if from < to {
            self.note_kept_texts().await?;
            // From here on every process counts new chats for their users. What none counts is left from before.
            self.raise_format(Shape::UserUsage.format()).await?;
            loop {
                let found = self.count_for_owners().await?;
                counted += found;
                if found == 0 {
                    break;
                }
            }
            self.raise_format(to).await?;
        }
        Ok(FinishedUpgrade { from, to, marked, counted })
    }

    async fn raise_format(&self, to: i64) -> Result<(), StoreError> {
        let now = DateTime::from_chrono(self.inner.clock.now());
        self.write_until(self.deadline(), |_| async {
            let format = &self.inner.store_format;
            let raise = format.update_one(format_filter(), raise_format_update(to, now));
            raise.upsert(true).await?;
            Ok(())
        })
        .await
    }

    /// Prepares the chats of earlier releases for the newest format, page by page; each page has its own deadlines. Returns
    /// how many chats with shared messages were marked.
    async fn prepare_chats(&self) -> Result<u64, StoreError> {
        let mut projection = Lineage::projection();
        projection.extend(doc! { "created_at": 1, "last_message_at": 1, "active_minute": 1 });
        projection.extend(doc! { LIFECYCLE: 1, "title": 1, TITLE_TRIGRAMS: 1 });
        projection.extend(doc! { TITLE_KEY: 1, "sort": 1 });
        let (mut after, mut seen, mut marked) = (String::new(), 0_u64, 0_u64);
        loop {
            let page = self.next_sessions(&mut after, &projection).await?;
            if page.is_empty() {
                return Ok(marked);
            }
            marked += self.mark_shared_chats(&page).await?;
            let fills = [fill_active_minute, fill_trigrams, fill_title_key, fill_sort];
            let updates = page.iter().flat_map(|raw| fills.map(|fill| fill(raw)));
            let updates: Vec<_> = updates.flatten().collect();
            self.update_each(&updates).await?;
            seen += page.len() as u64;
            tracing::debug!(
                seen,
                marked,
                filled = updates.len(),
                "prepared chats for the newest format"
            );
        }
    }

    /// Returns a page of the sessions of all apps after an id, in the order of ids, and moves the id to its end.
    pub(super) async fn next_sessions(
        &self,
        after: &mut String,
        projection: &Document,
    ) -> Result<Vec<RawDocumentBuf>, StoreError> {
        let page: Vec<RawDocumentBuf> = self
            .read(|| async {
                let find = self.inner.chat_sessions.find(doc! { "_id": { "$gt": &*after } });
                let find = find.sort(doc! { "_id": 1 }).limit(PAGE);
                Ok(find.projection(projection.clone()).await?.try_collect().await?)
            })
            .await?;
        if let Some(last) = page.last() {
            last.get_str("_id").unwrap_or_default().clone_into(after);
        }
        Ok(page)
    }

    /// Marks the chats with shared messages that were stored before such chats were marked.
    async fn mark_shared_chats(&self, page: &[RawDocumentBuf]) -> Result<u64, StoreError> {
        let shared: Vec<&str> = page.iter().filter_map(shared_chat).collect();
        if shared.is_empty() {
            return Ok(0);
        }
        let version = Shape::Forks.format();
        let filter = doc! { "_id": { "$in": &shared }, "schema_version": { "$lt": version } };
        let mark = || {
            let mark = doc! { "$set": { "schema_version": version } };
            self.inner.chat_sessions.update_many(filter.clone(), mark)
        };
        let marking = self.write_until(self.deadline(), |_| async { Ok(mark().await?) });
        Ok(marking.await?.modified_count)
    }
}

/// Returns the update that stores the minute of the last activity of a chat, if an earlier release has left it out or behind.
///
/// The minute only grows, so that an append meanwhile is not undone.
fn fill_active_minute(raw: &RawDocumentBuf) -> Option<(Document, Document)> {
    // A purged chat has no minute: it is in no list, and is never due again.
    if is_purged(raw) {
        return None;
    }
    let time = |field| raw.get_datetime(field).ok().map(DateTime::to_chrono);
    let last_active_at = time("last_message_at").max(time("created_at"))?;
    let minute = minute_of(last_active_at);
    let is_outdated = time("active_minute").is_none_or(|stored| stored < minute);
    let id = raw.get_str("_id").ok().filter(|_| is_outdated)?;
    let minute = DateTime::from_chrono(minute);
    Some((doc! { "_id": id }, doc! { "$max": { "active_minute": minute } }))
}

/// Returns the update that stores the trigrams of a title, if an earlier release has left them out or behind.
///
/// It does nothing if the title was changed meanwhile.
fn fill_trigrams(raw: &RawDocumentBuf) -> Option<(Document, Document)> {
    let (id, title) = (raw.get_str("_id").ok()?, raw.get_str("title").ok()?);
    let trigrams = stored_trigrams(Some(title))?;
    let stored = raw.get_array(TITLE_TRIGRAMS).ok();
    let stored = stored.map(|them| them.into_iter().flatten().filter_map(RawBsonRef::as_str));
    if stored.is_some_and(|stored| stored.eq(trigrams.iter().map(String::as_str))) {
        return None;
    }
    let trigrams = Bson::from_iter(trigrams);
    Some((doc! { "_id": id, "title": title }, doc! { "$set": { TITLE_TRIGRAMS: trigrams } }))
}

/// Returns the update that stores the key of a title, if an earlier release has left it out or behind.
///
/// It does nothing if the title was changed meanwhile.
fn fill_title_key(raw: &RawDocumentBuf) -> Option<(Document, Document)> {
    let (id, title) = (raw.get_str("_id").ok()?, raw.get_str("title").ok());
    let key = title_key(title);
    if is_purged(raw) || raw.get_str(TITLE_KEY).is_ok_and(|stored| stored == key) {
        return None;
    }
    Some((doc! { "_id": id, "title": title }, doc! { "$set": { TITLE_KEY: key } }))
}

/// Returns the update that stores the `sort` of a chat, if an earlier release has left it out because it is 0.
fn fill_sort(raw: &RawDocumentBuf) -> Option<(Document, Document)> {
    if is_purged(raw) || raw.get("sort").is_ok_and(|stored| stored.is_some()) {
        return None;
    }
    let missing = doc! { "_id": raw.get_str("_id").ok()?, "sort": { "$exists": false } };
    Some((missing, doc! { "$set": { "sort": 0 } }))
}

fn is_purged(raw: &RawDocumentBuf) -> bool {
    raw.get_i32(LIFECYCLE).is_ok_and(|stored| stored == Lifecycle::Purged.number())
}

/// Returns the id of a session with shared messages.
///
/// A document that cannot be read is skipped, so that it does not block the others: either its
/// format is unknown to this release, or every other call reports it as corrupt.
fn shared_chat(raw: &RawDocumentBuf) -> Option<&str> {
    let id = raw.get_str("_id").ok()?;
    let lineage = || {
        let fields = open_chat_session(raw)?;
        Lineage::read(&fields.parsed("_id")?, &fields)
    };
    match lineage() {
        Ok(lineage) => lineage.is_shared().then_some(id),
        Err(error) => {
            tracing::warn!(chat_id = id, %error, "cannot tell whether a chat shares messages");
            None
        }
    }
}
