//! Which words of an app the beginning of a word stands for.

use std::collections::BTreeSet;

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use futures::future::try_join_all;
use mongodb::options::Hint;
use records::{AppId, WordRange};

use super::documents::{EntryRow, RANK, WORDS};
use crate::mongo::MongoStore;
use crate::mongo::collection_names::SEARCH_ENTRIES;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::one_of::one_of;
use crate::store::MessageSearch;

/// How many entries are read at a time to find words.
const PAGE: i64 = 64;

/// How often they are read.
const PAGES: usize = 24;

/// Up to which number the messages with a word are counted.
const MAX_COUNTED: u64 = 1_000;

/// The words that a range has in an app.
pub(super) struct Expansion {
    pub(super) words: Vec<String>,
    /// Whether there may be more of them.
    pub(super) is_cut: bool,
}

/// Returns the condition for entries with a word of a range. A bound for both ends of one word needs `$elemMatch`.
pub(super) fn with_word_in(range: &WordRange) -> Document {
    match range {
        WordRange::Word(_) => doc! { WORDS: one_of(range.spellings()) },
        WordRange::Prefix(prefix) => {
            doc! { WORDS: { "$elemMatch": { "$gte": begin_of(range), "$lt": end_of(prefix) } } }
        }
    }
}

/// Returns the first text of a range: that of its first spelling.
fn begin_of(range: &WordRange) -> Option<String> {
    range.spellings().into_iter().next()
}

/// Returns a text after every text that begins so.
fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

/// Returns the hint for the index of words.
pub(super) fn words_index() -> Hint {
    Hint::Keys(doc! { "app_id": 1, WORDS: 1, RANK: -1 })
}

impl MongoStore {
    /// Returns the range that the fewest messages have, as far as they are counted.
    pub(super) async fn rarest<'r>(
        &self,
        app_id: &AppId,
        ranges: &'r [WordRange],
    ) -> Result<Option<&'r WordRange>, Failure> {
        if let [only] = ranges {
            return Ok(Some(only));
        }
        let count = |range: &'r WordRange| async move {
            let mut filter = doc! { "app_id": app_id.as_str() };
            filter.extend(with_word_in(range));
            let count = self.inner.search_entries.count_documents(filter).hint(words_index());
            Ok::<_, Failure>((count.limit(MAX_COUNTED).await?, range))
        };
        let counts = try_join_all(ranges.iter().map(count)).await?;
        Ok(counts.into_iter().min().map(|(_, range)| range))
    }

    /// Returns the words of a range, in order.
    ///
    /// The entries of a range are read in the order of its words. After each page the next one begins behind the last word,
    /// so that a frequent word costs no more than a rare one. An entry is read once, under its first word of the range. Its
    /// other words are not passed over: the messages with them are found under the first.
    pub(super) async fn expand(
        &self,
        app_id: &AppId,
        range: &WordRange,
    ) -> Result<Expansion, Failure> {
        let prefix = match range {
            WordRange::Word(_) => {
                return Ok(Expansion { words: range.spellings(), is_cut: false });
            }
            WordRange::Prefix(prefix) => prefix,
        };
        let (mut words, mut begin) = (BTreeSet::new(), doc! { "$gte": begin_of(range) });
        let mut is_cut = true;
        for _ in 0..PAGES {
            begin.insert("$lt", end_of(prefix));
            let within = doc! { "app_id": app_id.as_str(), WORDS: { "$elemMatch": &begin } };
            let find = self.inner.search_entries.find(within).hint(words_index()).limit(PAGE);
            let page: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
            let after = begin.get_str("$gt").unwrap_or_default().to_owned();
            let mut last = None;
            for raw in &page {
                let row: EntryRow = read_document(SEARCH_ENTRIES, raw)?;
                let first = row.words.into_iter().filter(|word| range.has(word) && *word > after);
                last = first.min();
                words.extend(last.clone());
            }
            let is_last = i64::try_from(page.len()).is_ok_and(|read| read < PAGE);
            if is_last {
                is_cut = false;
            }
            let Some(last) = last.filter(|_| is_cut) else { break };
            if words.len() > MessageSearch::MAX_EXPANDED {
                break;
            }
            begin = doc! { "$gt": last };
        }
        is_cut |= words.len() > MessageSearch::MAX_EXPANDED;
        let words = words.into_iter().take(MessageSearch::MAX_EXPANDED).collect();
        Ok(Expansion { words, is_cut })
    }
}
