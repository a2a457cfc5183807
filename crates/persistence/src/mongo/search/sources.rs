//! Where a search looks for entries: in the index of words of an app, or in those of some chats.

use std::cmp::Reverse;
use std::collections::HashMap;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use futures::future::try_join_all;
use mongodb::options::Hint;
use records::{AppId, ChatId, Reach, Scope, WordRange};

use super::documents::{ENTRY_CHAT, EntryRow, RANK, WORDS, entry_id};
use super::expansion::{with_word_in, words_index};
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::SEARCH_ENTRIES;
use crate::mongo::collections::ACTIVE_MINUTE;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::failure::Failure;
use crate::rules::lists::serving_lists;
use crate::store::{HitPosition, MessageSearch};

/// The entries that a search reads, the newest first.
pub(super) struct Source {
    filter: Document,
    /// Whether the filter names no word or no chat. The server would sort nothing in memory.
    is_empty: bool,
    index: Hint,
    /// What an entry must have beside what the filter names.
    pub(super) others: Vec<WordRange>,
    /// Whether there are entries that it leaves out.
    pub(super) is_cut: bool,
    /// Older entries than this one are left out.
    pub(super) floor: Option<HitPosition>,
}

/// Entries in order.
pub(super) struct Entries {
    pub(super) rows: Vec<EntryRow>,
    /// Whether there may be more.
    pub(super) has_more: bool,
}

/// The chats to look into.
struct Chats {
    ids: Vec<ChatId>,
    is_cut: bool,
}

impl MongoStore {
    pub(super) async fn source(
        &self,
        scope: &Scope,
        search: &MessageSearch,
        after: Option<&HitPosition>,
    ) -> Result<Source, Failure> {
        let ranges = search.query.ranges();
        match self.chats_to_search(scope, search).await? {
            Some(chats) => self.source_in_chats(&scope.app_id, chats, &ranges, after).await,
            None => self.source_in_app(&scope.app_id, ranges).await,
        }
    }

    /// All messages of an app with the rarest of the words.
    async fn source_in_app(
        &self,
        app_id: &AppId,
        ranges: Vec<WordRange>,
    ) -> Result<Source, Failure> {
        let rarest = self.rarest(app_id, &ranges).await?.cloned();
        let (mut words, mut is_cut) = (Vec::new(), false);
        if let Some(range) = &rarest {
            let expansion = self.expand(app_id, range).await?;
            (words, is_cut) = (expansion.words, expansion.is_cut);
        }
        let is_empty = words.is_empty();
        // The server then merges the scans of single words, each in order.
        let filter = doc! { "app_id": app_id.as_str(), WORDS: { "$in": words } };
        let others = ranges.into_iter().filter(|range| Some(range) != rarest.as_ref()).collect();
        Ok(Source { filter, is_empty, index: words_index(), others, is_cut, floor: None })
    }

    /// The messages of some chats with all words.
    async fn source_in_chats(
        &self,
        app_id: &AppId,
        chats: Chats,
        ranges: &[WordRange],
        after: Option<&HitPosition>,
    ) -> Result<Source, Failure> {
        let Chats { ids, mut is_cut } = chats;
        let marks = self.marks_of(&ids).await?;
        let sizes: HashMap<&ChatId, u64> =
            marks.values().map(|mark| (&mark.chat_id, mark.next_sequence)).collect();
        let (mut chosen, mut messages): (Vec<&ChatId>, u64) = (Vec::new(), 0);
        for chat_id in &ids {
            let size = sizes.get(chat_id).copied().unwrap_or_default();
            if chosen.is_empty() || messages + size <= MessageSearch::MAX_MESSAGES {
                chosen.push(chat_id);
                messages += size;
            } else {
                is_cut = true;
            }
        }
        let mut floor = None;
        if let [only] = chosen.as_slice()
            && messages > MessageSearch::MAX_MESSAGES
        {
            let end = after.filter(|at| at.chat_id == **only).map_or(messages, |at| at.sequence);
            let below = end.saturating_sub(MessageSearch::MAX_MESSAGES);
            floor = self.position_of(app_id, only, below).await?.filter(|_| below > 0);
            is_cut |= floor.is_some();
        }
        let is_empty = chosen.is_empty();
        let chosen: Vec<&str> = chosen.into_iter().map(ChatId::as_str).collect();
        let words: Vec<Bson> = ranges.iter().map(|it| with_word_in(it).into()).collect();
        let mut filter = doc! { "app_id": app_id.as_str(), ENTRY_CHAT: { "$in": chosen } };
        filter.insert("$and", words);
        let index = Hint::Keys(doc! { "app_id": 1, ENTRY_CHAT: 1, RANK: -1 });
        Ok(Source { filter, is_empty, index, others: Vec::new(), is_cut, floor })
    }

    /// Returns the chats to look into; `None` for all chats of the app.
    async fn chats_to_search(
        &self,
        scope: &Scope,
        search: &MessageSearch,
    ) -> Result<Option<Chats>, Failure> {
        if let Some(chat_id) = &search.chat_id {
            self.session_within(scope, chat_id, doc! { "_id": 1 }).await?;
            return Ok(Some(Chats { ids: vec![chat_id.clone()], is_cut: false }));
        }
        let filter = search.filter();
        let is_narrowed =
            filter.of_app || filter.workflow_name.is_some() || filter.user_id.is_some();
        if !is_narrowed && scope.reach(scope.permission) == Reach::Every {
            return Ok(None);
        }
        let lists = serving_lists(scope, &filter, None).map_err(StoreError::from)?;
        let (sort, most) = (doc! { ACTIVE_MINUTE: -1, "_id": -1 }, MessageSearch::MAX_CHATS);
        let ids = |list| self.listed_ids(list, scope, &filter, sort.clone(), most);
        let found = try_join_all(lists.into_iter().map(ids)).await?;
        let is_cut = found.iter().any(|ids| ids.len() >= most);
        let mut ids: Vec<ChatId> = Vec::new();
        let mut seen = std::collections::HashSet::new();
        for id in found.into_iter().flatten() {
            if let Ok(chat_id) = ChatId::parse(&id)
                && seen.insert(id)
            {
                ids.push(chat_id);
            }
        }
        Ok(Some(Chats { ids, is_cut }))
    }

    async fn position_of(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        sequence: u64,
    ) -> Result<Option<HitPosition>, Failure> {
        let one = doc! { "_id": entry_id(chat_id, sequence), "app_id": app_id.as_str() };
        let find = self.inner.search_entries.find_one(one).projection(row_fields(&[]));
        let row = find.await?.map(|raw| read_document::<EntryRow>(SEARCH_ENTRIES, &raw));
        Ok(row.transpose()?.map(|row| row.position()))
    }

    /// Reads the first entries of a source after a position. Those that lack other words are among them.
    ///
    /// The indexes have the rank last, so the order of equal ranks is made here: the rest of the position's rank is read by
    /// itself, and so is a rank that fills a whole reply. If there are more, there is at least one.
    pub(super) async fn entries(
        &self,
        source: &Source,
        after: Option<&HitPosition>,
        limit: usize,
    ) -> Result<Entries, Failure> {
        if source.is_empty {
            return Ok(Entries { rows: Vec::new(), has_more: false });
        }
        let mut rows = match after {
            Some(at) => self.entries_of_rank(source, at.rank, Some(at), limit).await?,
            None => Vec::new(),
        };
        let left = limit - rows.len();
        if left == 0 {
            return Ok(Entries { rows, has_more: true });
        }
        let mut bounds = Document::new();
        bounds.extend(after.map(|at| ("$lt".to_owned(), Bson::from(at.rank))));
        bounds.extend(source.floor.iter().map(|at| ("$gte".to_owned(), Bson::from(at.rank))));
        let bounds = if bounds.is_empty() {
            bounds
        } else {
            doc! { RANK: bounds }
        };
        let mut lower = self.read_entries(source, bounds, doc! { RANK: -1 }, left).await?;
        let has_more = lower.len() == left;
        if has_more && let Some(last) = lower.last().map(|row| row.rank) {
            // There may be more of the last rank.
            lower.retain(|row| row.rank != last);
            if rows.is_empty() && lower.is_empty() {
                lower = self.entries_of_rank(source, last, None, limit).await?;
            }
        }
        lower.sort_by_cached_key(|row| Reverse(row.position()));
        rows.extend(lower);
        Ok(Entries { rows, has_more })
    }

    /// Reads the first entries of one rank, in order.
    async fn entries_of_rank(
        &self,
        source: &Source,
        rank: i64,
        after: Option<&HitPosition>,
        limit: usize,
    ) -> Result<Vec<EntryRow>, Failure> {
        let mut of_rank = doc! { RANK: rank };
        of_rank.extend(after.map(|at| {
            let below = doc! { "$lt": entry_id(&at.chat_id, at.sequence) };
            ("_id".to_owned(), Bson::from(below))
        }));
        self.read_entries(source, of_rank, doc! { "_id": -1 }, limit).await
    }

    async fn read_entries(
        &self,
        source: &Source,
        condition: Document,
        sort: Document,
        limit: usize,
    ) -> Result<Vec<EntryRow>, Failure> {
        let mut filter = source.filter.clone();
        filter.extend(condition);
        let limit = i64::try_from(limit).unwrap_or(i64::MAX);
        let find = self.inner.search_entries.find(filter).sort(sort).limit(limit);
        let find = find.hint(source.index.clone()).projection(row_fields(&source.others));
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let rows = found.iter().map(|raw| read_document(SEARCH_ENTRIES, raw));
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

fn row_fields(others: &[WordRange]) -> Document {
    let mut fields = doc! { RANK: 1, "schema_version": 1 };
    if !others.is_empty() {
        fields.insert(WORDS, 1);
    }
    fields
}
