//! How many titles of an app have a trigram, as it was within the last minute.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use records::Scope;

/// The most counts that are remembered.
const MAX_COUNTS: u64 = 10_000;
const REMEMBERED: Duration = Duration::from_mins(1);

/// Remembers the counts of trigrams, so that a search that is typed, or paged through, counts once.
///
/// A count chooses the index by which titles are read, and never what is found: an old one costs time, nothing else.
#[derive(Debug)]
pub(crate) struct TitleCounts(Cache<Arc<str>, u64>);

impl Default for TitleCounts {
    fn default() -> Self {
        Self(Cache::builder().max_capacity(MAX_COUNTS).time_to_live(REMEMBERED).build())
    }
}

impl TitleCounts {
    /// Returns the number of titles of the app that have a trigram, in all spellings, if it is remembered.
    pub(super) fn get(&self, scope: &Scope, spellings: &[String]) -> Option<u64> {
        self.0.get(key(scope, spellings).as_str())
    }

    pub(super) fn insert(&self, scope: &Scope, spellings: &[String], titles: u64) {
        self.0.insert(key(scope, spellings).into(), titles);
    }
}

/// An id of an app has no space, and the spellings follow from the first.
fn key(scope: &Scope, spellings: &[String]) -> String {
    let trigram = spellings.first().map_or("", String::as_str);
    format!("{} {trigram}", scope.app_id.as_str())
}
