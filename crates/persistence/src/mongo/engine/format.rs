//! Which stored shapes may be written: none that an older process might still meet (decision 0026).
//!
//! The database is at a *format*, a number that only grows. Every release reads all formats up to its
//! newest one. It writes a shape that older releases cannot read only when the database has reached the
//! format of that shape, and marks each document that uses the shape with that `schema_version`. An older
//! process refuses such a document instead of misreading it.

use std::sync::atomic::{AtomicI64, Ordering};

use bson::{DateTime, doc};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::documents::{
    COLLECTIONS, NEWEST_VERSION, SCHEMA_VERSION, encode, format_document, format_number, one_format,
};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};

/// A stored shape that older releases cannot read.
///
/// A further shape is a variant here and a line in [`ALL`](Self::ALL), [`format`](Self::format) and
/// [`name`](Self::name); [`NEWEST_VERSION`] is the greatest format of them all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    /// Chats that share sealed messages: `bases` and `shared_below`.
    Forks,
}

impl Shape {
    /// Every shape, in the order of the formats.
    pub(crate) const ALL: [Self; 1] = [Self::Forks];

    /// Returns the first format at which it is written, which is the `schema_version` of each document
    /// that uses it.
    pub(crate) const fn format(self) -> i64 {
        match self {
            Self::Forks => 2,
        }
    }

    /// Returns its name in errors and reports.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Forks => "forks",
        }
    }
}

/// The newest format of the database that this process has seen; 0: it has not looked yet.
#[derive(Debug, Default)]
pub(crate) struct KnownFormat(AtomicI64);

impl MongoStore {
    /// Tells whether documents of a shape may be written.
    ///
    /// Costs nothing once the database has reached the format of the shape. Until then every call reads one
    /// document, so that a finished upgrade takes effect at once.
    pub(crate) async fn writes(&self, shape: Shape) -> Result<bool, Failure> {
        Ok(self.format_from(shape.format()).await? >= shape.format())
    }

    /// Refuses a call that cannot do without a shape, unless documents of it may be written.
    pub(crate) async fn require(&self, shape: Shape) -> Result<(), Failure> {
        if self.writes(shape).await? {
            return Ok(());
        }
        let (needed, stored) = (shape.format(), self.inner.format.0.load(Ordering::Relaxed));
        Err(StoreError::UpgradePending { shape: shape.name(), needed, stored }.into())
    }

    /// Looks once which format the database is at.
    ///
    /// Each call that may store the first document of a database begins with it: afterwards a new database
    /// cannot be told from one of an older release.
    pub(crate) async fn know_format(&self) -> Result<(), Failure> {
        self.format_from(SCHEMA_VERSION).await.map(drop)
    }

    /// Returns the format of the database; what is remembered of it will do from a certain format on,
    /// because the format never goes back.
    async fn format_from(&self, enough: i64) -> Result<i64, Failure> {
        let known = self.inner.format.0.load(Ordering::Relaxed);
        if known >= enough {
            return Ok(known);
        }
        let stored = self.stored_format().await?;
        self.inner.format.0.fetch_max(stored, Ordering::Relaxed);
        Ok(stored)
    }

    /// Reads the format of the database; notes the newest one in a new database.
    pub(crate) async fn stored_format(&self) -> Result<i64, Failure> {
        loop {
            if let Some(raw) = self.inner.store_format.find_one(one_format()).await? {
                return Ok(format_number(&raw)?);
            }
            // A collection without documents counts too: a process that is at work has created it.
            let ours = doc! { "name": { "$in": COLLECTIONS.to_vec() } };
            let traces = self.inner.database.list_collection_names().filter(ours).await?;
            if !traces.is_empty() {
                return Ok(SCHEMA_VERSION);
            }
            let now = DateTime::from_chrono(self.inner.clock.now());
            let first = encode(&format_document(NEWEST_VERSION, now))?;
            match self.inner.store_format.insert_one(first).await {
                Ok(_) => return Ok(NEWEST_VERSION),
                // Another process has noted it.
                Err(error) if is_duplicate_key(&error) => {}
                Err(error) => return Err(error.into()),
            }
        }
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
