//! Lists whose chats are compared one by one: those whose title has a part, and lists of a range that are narrowed by a value of
//! the metadata.
//!
//! The titles and the attributes of a range are read in the order of the list and compared here: no text of a caller becomes a
//! pattern. For a service that searches titles the range is that of the rarest trigram, otherwise it is the chats of a person or
//! of a team.
//!
//! The index of trigrams is by creation: by activity, an append would change as many entries as a title has trigrams. A search
//! by activity reads all titles with a rare trigram, and sorts them here. If the trigram is not rare, many of the titles have
//! the part, so it reads the titles of all chats in the order of the list.

use std::collections::{BTreeSet, HashMap};

use bson::{Document, RawBsonRef, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use futures::future::try_join_all;
use mongodb::action::{Action as _, CountDocuments};
use mongodb::options::Hint;
use records::{ChatId, ChatSession, Scope, TitlePart, title_key};
use serde::Deserialize;

use super::ListRead;
use super::filter::list_filter;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::chat_sessions::without_large_fields;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::collections::{ACTIVE_MINUTE, session_index};
use crate::mongo::documents::stored::{check_readable, read_document};
use crate::mongo::documents::time::Time;
use crate::mongo::documents::{ATTRS, Attribute, TITLE_TRIGRAMS, chat_session_record};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::mongo::engine::one_of::one_of;
use crate::rules::lists::{ListRange, ServedList, unselected_list};
use crate::store::{
    ChatCount, ChatFilter, ChatOrder, ListCursor, Page, Position, page_end, sort_page,
};

/// The most chats that a page compares of a range. A page with fewer chats than wanted goes on behind them.
const MAX_READ: usize = 2_000;

/// How many trigrams of a part are counted, and up to which number, to find the rarest. The titles with a trigram that fewer
/// have are sorted in memory.
const COUNTED_TRIGRAMS: usize = 8;
const MAX_COUNTED_CHATS: u64 = 1_000;

/// What was compared of a range of a list.
struct Compared {
    /// The chats that are in the list, with what selects the range.
    found: Vec<ListCursor>,
    query: Document,
    /// The last chat that was read, if there may be more.
    end: Option<ListCursor>,
}

impl MongoStore {
    /// Lists the chats whose title and metadata are as the filter says.
    pub(in crate::mongo::chat_sessions) async fn list_compared(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Page, StoreError> {
        let ranges = self.compare_lists(lists, scope, filter, MAX_READ, after).await?;
        let compare =
            |one: &&ListCursor, other: &&ListCursor| filter.direction().compare(*one, *other);
        // Behind the first end, a range may have chats that were not read.
        let end = ranges.iter().filter_map(|it| it.end.as_ref()).min_by(compare);
        let found = ranges.iter().flat_map(|it| &it.found);
        let is_read = |chat: &&ListCursor| end.is_none_or(|end| compare(chat, &end).is_le());
        let mut found: Vec<&ListCursor> = found.filter(is_read).collect();
        found.sort_by(compare);
        found.dedup();
        let limit = page_end(found.iter().copied(), limit);
        let next = if found.len() > limit {
            found.truncate(limit);
            found.last().copied().cloned()
        } else {
            end.cloned()
        };
        let ids: Vec<&ChatId> = found.iter().map(|chat| &chat.chat_id).collect();
        let chats = self.read(|| async {
            let read = ranges.iter().map(|titles| self.chats_of(&titles.query, &ids));
            try_join_all(read).await
        });
        let mut chats: HashMap<ChatId, ChatSession> = chats.await?.into_iter().flatten().collect();
        let chats = ids.iter().filter_map(|id| chats.remove(*id));
        let mut chats: Vec<_> = chats.filter(|chat| filter.has_texts(chat)).collect();
        sort_page(&mut chats, filter);
        Ok(Page { chats, next })
    }

    /// Counts the chats whose title and metadata are as the filter says.
    pub(in crate::mongo::chat_sessions) async fn count_compared(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
    ) -> Result<ChatCount, StoreError> {
        let ranges = self.compare_lists(lists, scope, filter, ChatCount::MAX_COUNTED, None).await?;
        let ids = ranges.iter().flat_map(|it| &it.found).map(|chat| &chat.chat_id);
        let count = ids.collect::<BTreeSet<_>>().len();
        if ranges.iter().any(|it| it.end.is_some()) {
            return Ok(ChatCount::AtLeast(count.min(ChatCount::MAX_COUNTED)));
        }
        Ok(ChatCount::of(count))
    }

    /// Compares the chats of each range of a list, as many as given.
    async fn compare_lists(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
        most: usize,
        after: Option<&ListCursor>,
    ) -> Result<Vec<Compared>, StoreError> {
        let read = |list| async move {
            Ok(vec![self.compare_within(list, scope, filter, most, after).await?])
        };
        self.read_lists(lists, scope, filter, read).await
    }

    async fn compare_within(
        &self,
        list: &'static ServedList,
        scope: &Scope,
        filter: &ChatFilter,
        most: usize,
        after: Option<&ListCursor>,
    ) -> Result<Compared, Failure> {
        let query = list_filter(scope, filter, list.range);
        let read = ListRead::of(scope, filter, after);
        let (ListRange::Title, Some(part)) = (list.range, &filter.title_contains) else {
            return self.read_compared(list, query, filter, read, most).await;
        };
        let (trigram, titles) = self.rarest_trigram(list, scope, part).await?;
        let mut with_trigram = query.clone();
        with_trigram.insert(TITLE_TRIGRAMS, one_of(trigram));
        if filter.order == ChatOrder::Created {
            return self.read_compared(list, with_trigram, filter, read, most).await;
        }
        if titles < MAX_COUNTED_CHATS {
            let whole = ListRead { order: ChatOrder::Created, after: None, ..read };
            let mut few = self.read_compared(list, with_trigram, filter, whole, most).await?;
            // With an end, there are more than were counted, and they are not in the order of the list.
            if few.end.is_none() {
                let compare = |chat: &ListCursor, after| filter.direction().compare(chat, after);
                few.found.retain(|chat| after.is_none_or(|after| compare(chat, after).is_gt()));
                return Ok(few);
            }
        }
        let all = unselected_list(filter).unwrap_or(list);
        self.read_compared(all, query, filter, read, most).await
    }

    /// Reads the chats of an index, and returns the positions in the list of those whose title and metadata are as the filter says.
    async fn read_compared(
        &self,
        list: &ServedList,
        query: Document,
        filter: &ChatFilter,
        read: ListRead<'_>,
        most: usize,
    ) -> Result<Compared, Failure> {
        let mut fields =
            doc! { "created_at": 1, ACTIVE_MINUTE: 1, "sort": 1, "title": 1, "schema_version": 1 };
        if filter.metadata.is_some() {
            fields.insert(ATTRS, 1);
        }
        let attribute = filter.metadata.as_ref().map(Attribute::of);
        let rows = self.rows_within(list, &query, read, most, fields).await?;
        let decode = |raw: &RawDocumentBuf| read_document::<Row>(CHAT_SESSIONS, raw);
        let end = rows.last().filter(|_| rows.len() >= most).map(decode).transpose()?;
        let mut found = Vec::new();
        for raw in &rows {
            // Most are not in the list, so their titles are compared where they are.
            if !filter.has_title(title_in(raw)) {
                check_readable(CHAT_SESSIONS, raw)?;
                continue;
            }
            let row = decode(raw)?;
            if row.has(attribute.as_ref()) {
                found.push(row.position(filter.order));
            }
        }
        Ok(Compared { found, query, end: end.map(|row| row.position(filter.order)) })
    }

    /// Returns the trigram of a part that the fewest titles of the app have, in all spellings, and how many have it. The server
    /// would take the first one.
    async fn rarest_trigram(
        &self,
        list: &ServedList,
        scope: &Scope,
        part: &TitlePart,
    ) -> Result<(Vec<String>, u64), Failure> {
        let trigrams = part.trigrams();
        let apart = trigrams.len().div_ceil(COUNTED_TRIGRAMS).max(1);
        let count = |trigram: Vec<String>| async {
            let remembered = &self.inner.title_counts;
            if let Some(titles) = remembered.get(scope, &trigram) {
                return Ok((titles, trigram));
            }
            let with_trigram = one_of(trigram.clone());
            let filter = doc! { "app_id": scope.app_id.as_str(), TITLE_TRIGRAMS: with_trigram };
            let counted = hinted(session_index(list.index), |hint| {
                let count = self.inner.chat_sessions.count_documents(filter.clone());
                let count = count.limit(MAX_COUNTED_CHATS);
                async move { Ok(count.optional(hint, CountDocuments::hint).await?) }
            });
            let titles = counted.await?;
            remembered.insert(scope, &trigram, titles);
            Ok::<_, Failure>((titles, trigram))
        };
        let counts = try_join_all(trigrams.into_iter().step_by(apart).map(count)).await?;
        let rarest = counts.into_iter().min();
        Ok(rarest.map(|(titles, trigram)| (trigram, titles)).unwrap_or_default())
    }

    /// Reads the chats with these ids that match a query, which may have changed since their titles were read.
    async fn chats_of(
        &self,
        query: &Document,
        ids: &[&ChatId],
    ) -> Result<Vec<(ChatId, ChatSession)>, Failure> {
        let ids: Vec<&str> = ids.iter().map(|id| id.as_str()).collect();
        let find =
            self.inner.chat_sessions.find(doc! { "$and": [query, { "_id": { "$in": ids } }] });
        let find = find.hint(Hint::Keys(doc! { "_id": 1 })).projection(without_large_fields());
        let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
        let chats = found.iter().map(|raw| {
            let chat = chat_session_record(raw)?;
            Ok((chat.chat_id.clone(), chat))
        });
        chats.collect()
    }
}

fn title_in(session: &RawDocument) -> Option<&str> {
    session.get("title").ok().flatten().and_then(RawBsonRef::as_str)
}

/// The fields of a session that are read to compare it.
#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "_id")]
    chat_id: ChatId,
    created_at: Time,
    active_minute: Option<Time>,
    #[serde(default)]
    sort: i32,
    title: Option<String>,
    attrs: Option<Vec<Attribute>>,
}

impl Row {
    fn has(&self, attribute: Option<&Attribute>) -> bool {
        attribute.is_none_or(|it| self.attrs.as_ref().is_some_and(|attrs| attrs.contains(it)))
    }

    fn position(&self, order: ChatOrder) -> ListCursor {
        let position = match order {
            ChatOrder::Created => Position::Created(self.created_at.0),
            ChatOrder::Active => {
                Position::Active(self.active_minute.as_ref().unwrap_or(&self.created_at).0)
            }
            ChatOrder::Title => Position::Title(title_key(self.title.as_deref())),
            ChatOrder::Sort => Position::Sort(self.sort),
        };
        ListCursor { position, chat_id: self.chat_id.clone() }
    }
}
