//! Lists of the chats whose title has a part.
//!
//! The titles of a range are read in the order of the list and compared here: no text of a caller becomes a pattern. For a
//! service the range is that of the rarest trigram, for a person their own chats.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use futures::future::try_join_all;
use mongodb::action::{Action as _, CountDocuments};
use mongodb::options::Hint;
use records::{ChatId, ChatSession, Scope, TitlePart};
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::chat_sessions::{list_filter, without_large_fields};
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::collections::session_index;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::time::Time;
use crate::mongo::documents::{TITLE_TRIGRAMS, chat_session_record};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;
use crate::rules::lists::{ListRange, ServedList};
use crate::store::{ChatCount, ChatFilter, ListCursor, Page, Position};

/// The most titles that a page reads from a range. A page with fewer chats than wanted goes on behind them.
const MAX_READ: usize = 2_000;

/// How many trigrams of a part are counted, and up to which number, to find the rarest.
const COUNTED_TRIGRAMS: usize = 8;
const MAX_COUNTED_CHATS: u64 = 1_000;

/// What was read of a range of a list.
struct Titles {
    /// The chats whose title has the part, with what selects the range.
    found: Vec<ListCursor>,
    query: Document,
    /// The last chat that was read, if there may be more.
    end: Option<ListCursor>,
}

impl MongoStore {
    /// Lists the chats whose title has the part of the filter.
    pub(super) async fn list_by_title(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Page, StoreError> {
        let ranges = self.titles_of(lists, scope, filter, MAX_READ, after).await?;
        // Behind the first end, a range may have chats that were not read.
        let end = ranges.iter().filter_map(|titles| titles.end.as_ref()).max();
        let found = ranges.iter().flat_map(|titles| &titles.found);
        let found = found.filter(|chat| end.is_none_or(|end| *chat >= end));
        let mut found: Vec<_> = found.map(Reverse).collect::<BTreeSet<_>>().into_iter().collect();
        let next = if found.len() > limit {
            found.truncate(limit);
            found.last().map(|Reverse(chat)| (*chat).clone())
        } else {
            end.cloned()
        };
        let ids: Vec<&ChatId> = found.iter().map(|Reverse(chat)| &chat.chat_id).collect();
        let chats = self.read(|| async {
            let read = ranges.iter().map(|titles| self.chats_of(&titles.query, &ids));
            try_join_all(read).await
        });
        let mut chats: HashMap<ChatId, ChatSession> = chats.await?.into_iter().flatten().collect();
        let chats = ids.iter().filter_map(|id| chats.remove(*id));
        let chats = chats.filter(|chat| filter.has_title(chat.title.as_deref())).collect();
        Ok(Page { chats, next })
    }

    /// Counts the chats whose title has the part of the filter.
    pub(super) async fn count_by_title(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
    ) -> Result<ChatCount, StoreError> {
        let ranges = self.titles_of(lists, scope, filter, ChatCount::MAX_COUNTED, None).await?;
        let ids = ranges.iter().flat_map(|titles| &titles.found).map(|chat| &chat.chat_id);
        let count = ids.collect::<BTreeSet<_>>().len();
        if ranges.iter().any(|titles| titles.end.is_some()) {
            return Ok(ChatCount::AtLeast(count.min(ChatCount::MAX_COUNTED)));
        }
        Ok(ChatCount::of(count))
    }

    /// Reads the titles of each range of a list, as many as given.
    async fn titles_of(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
        most: usize,
        after: Option<&ListCursor>,
    ) -> Result<Vec<Titles>, StoreError> {
        let read = |list| async move {
            Ok(vec![self.titles_within(list, scope, filter, most, after).await?])
        };
        self.read_lists(lists, scope, filter, read).await
    }

    async fn titles_within(
        &self,
        list: &'static ServedList,
        scope: &Scope,
        filter: &ChatFilter,
        most: usize,
        after: Option<&ListCursor>,
    ) -> Result<Titles, Failure> {
        let mut query = list_filter(scope, filter, list.range);
        if list.range == ListRange::Title
            && let Some(part) = &filter.title_contains
        {
            query.insert(TITLE_TRIGRAMS, self.rarest_trigram(list, scope, part).await?);
        }
        let fields = doc! { "created_at": 1, "title": 1, "schema_version": 1 };
        let rows = self.rows_within(list, &query, after, most, fields).await?;
        let rows = rows.iter().map(|raw| read_document::<Row>(CHAT_SESSIONS, raw));
        let rows = rows.collect::<Result<Vec<_>, _>>()?;
        let end = rows.last().filter(|_| rows.len() >= most).map(Row::position);
        let found = rows.iter().filter(|row| filter.has_title(row.title.as_deref()));
        Ok(Titles { found: found.map(Row::position).collect(), query, end })
    }

    /// Returns the trigram of a part that the fewest titles of the app have. The server would take the first one.
    async fn rarest_trigram(
        &self,
        list: &ServedList,
        scope: &Scope,
        part: &TitlePart,
    ) -> Result<String, Failure> {
        let trigrams: Vec<String> = part.trigrams().into_iter().collect();
        let apart = trigrams.len().div_ceil(COUNTED_TRIGRAMS).max(1);
        let count = |trigram: String| async {
            let filter = doc! { "app_id": scope.app_id.as_str(), TITLE_TRIGRAMS: &trigram };
            let counted = hinted(session_index(list.index), |hint| {
                let count = self.inner.chat_sessions.count_documents(filter.clone());
                let count = count.limit(MAX_COUNTED_CHATS);
                async move { Ok(count.optional(hint, CountDocuments::hint).await?) }
            });
            Ok::<_, Failure>((counted.await?, trigram))
        };
        let counts = try_join_all(trigrams.into_iter().step_by(apart).map(count)).await?;
        Ok(counts.into_iter().min().map(|(_, trigram)| trigram).unwrap_or_default())
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

/// The fields of a session that are read to compare its title.
#[derive(Debug, Deserialize)]
struct Row {
    #[serde(rename = "_id")]
    chat_id: ChatId,
    created_at: Time,
    title: Option<String>,
}

impl Row {
    fn position(&self) -> ListCursor {
        let position = Position::Created(self.created_at.0);
        ListCursor { position, chat_id: self.chat_id.clone() }
    }
}
