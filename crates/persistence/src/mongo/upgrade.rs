//! The end of a rolling upgrade: from then on the newer stored shapes are written (decision 0026).

use bson::{DateTime, RawDocumentBuf, doc};
use futures::TryStreamExt;

use super::MongoStore;
use super::documents::{
    Lineage, NEWEST_VERSION, STORE_FORMAT, one_format, open_chat_session, raised_format,
};
use super::engine::format::Shape;
use crate::StoreError;

/// How many sessions are read at a time.
const PAGE: i64 = 200;

/// Which format a database is at, and which one this release can bring it to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatStatus {
    /// The format of the database.
    pub stored: i64,
    /// The newest format that this release reads and writes.
    pub newest: i64,
    /// The shapes that are not written until the upgrade is finished.
    pub pending: Vec<&'static str>,
}

/// What finishing an upgrade has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedUpgrade {
    /// The format of the database before.
    pub from: i64,
    /// The format of the database now.
    pub to: i64,
    /// How many chats share messages and were not marked as such: those that releases without formats have
    /// forked, and their forks.
    pub marked: u64,
}

impl MongoStore {
    /// Says which format the database is at; notes the newest one in a new database.
    pub async fn format_status(&self) -> Result<FormatStatus, StoreError> {
        let stored = self.read(|| self.stored_format()).await?;
        let pending = Shape::ALL.into_iter().filter(|shape| shape.format() > stored);
        Ok(FormatStatus {
            stored,
            newest: NEWEST_VERSION,
            pending: pending.map(Shape::name).collect(),
        })
    }

    /// Tells the log of an upgrade that is not finished, and of a database that a newer release has upgraded.
    pub(super) async fn tell_format(&self) -> Result<(), StoreError> {
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

    /// Brings the database to the newest format of this release.
    ///
    /// To be called when no process of an older release runs any more: such a process refuses the
    /// documents of newer shapes from then on. It may be repeated at any time, also after it broke off. A
    /// database at a format that this release does not know is
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
        let marked = self.mark_shared_chats().await?;
        if from < to {
            let now = DateTime::from_chrono(self.inner.clock.now());
            self.write_until(self.deadline(), |_| async {
                let format = &self.inner.store_format;
                let raise = format.update_one(one_format(), raised_format(to, now));
                Ok(raise.upsert(true).await?)
            })
            .await?;
        }
        Ok(FinishedUpgrade { from, to, marked })
    }

    /// Marks the chats that share messages and were stored before such chats were marked.
    ///
    /// Goes through all sessions page by page, each page with a deadline of its own.
    async fn mark_shared_chats(&self) -> Result<u64, StoreError> {
        let projection = Lineage::projected(doc! { "revision": 1, "schema_version": 1 });
        let version = Shape::Forks.format();
        let (mut after, mut seen, mut marked) = (String::new(), 0_u64, 0_u64);
        loop {
            let page: Vec<RawDocumentBuf> = self
                .read(|| async {
                    let find = self.inner.chat_sessions.find(doc! { "_id": { "$gt": &after } });
                    let find = find.sort(doc! { "_id": 1 }).limit(PAGE);
                    Ok(find.projection(projection.clone()).await?.try_collect().await?)
                })
                .await?;
            let Some(last) = page.last() else { return Ok(marked) };
            last.get_str("_id").unwrap_or_default().clone_into(&mut after);
            let shared: Vec<&str> = page.iter().filter_map(|raw| shared_chat(raw)).collect();
            if !shared.is_empty() {
                let filter =
                    doc! { "_id": { "$in": &shared }, "schema_version": { "$lt": version } };
                let mark = || {
                    let mark = doc! { "$set": { "schema_version": version } };
                    self.inner.chat_sessions.update_many(filter.clone(), mark)
                };
                let deadline = self.deadline();
                let marking = self.write_until(deadline, |_| async { Ok(mark().await?) });
                marked += marking.await?.modified_count;
            }
            seen += page.len() as u64;
            tracing::debug!(seen, marked, "looked for chats that share messages");
        }
    }
}

/// Returns the id of a session that shares messages.
///
/// A document that cannot be read is left as it is and keeps nobody from the others: it is of a format that
/// this release does not know, or every other call reports it as corrupt.
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
