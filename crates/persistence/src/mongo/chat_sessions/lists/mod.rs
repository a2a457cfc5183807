//! Lists of chats: which index each is read from, and in which order.

mod compared;
mod filter;
mod metadata;
mod title_counts;

pub(crate) use title_counts::TitleCounts;

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::future::try_join_all;
use records::{AppId, ChatSession, MetadataFilter, Scope};

use self::filter::{list_filter, shown_lifecycles};
use super::without_large_fields;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::{ACTIVE_MINUTE, session_index};
use crate::mongo::documents::{TITLE_KEY, chat_session_record};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::hinted::SortedFind;
use crate::rules::lists::ServedList;
use crate::store::{ChatFilter, ChatOrder, Direction, ListCursor, Position};
/// How the sessions of a range are read: in which order, and after which position.
#[derive(Debug, Clone, Copy)]
struct ListRead<'a> {
    order: ChatOrder,
    direction: Direction,
    after: Option<&'a ListCursor>,
    /// The app and the value, if the list is by a value of the metadata.
    metadata: Option<(&'a AppId, &'a MetadataFilter)>,
}

impl<'a> ListRead<'a> {
    /// Returns how the chats of a list are read.
    fn of(scope: &'a Scope, filter: &'a ChatFilter, after: Option<&'a ListCursor>) -> Self {
        let metadata = by_metadata(scope, filter);
        Self { order: filter.order, direction: filter.direction(), after, metadata }
    }

    /// Returns the queries for the sessions, and how each is sorted.
    ///
    /// A minute, and every other value, may have any number of chats. One query for both ranges would read those before the
    /// position. Sorted by the value as well, the server would sort the rest of it in memory.
    fn queries(self, query: &Document) -> Vec<(Document, Document)> {
        let field = ordered_by(self.order);
        let (direction, beyond) = match self.direction {
            Direction::Ascending => (1, "$gt"),
            Direction::Descending => (-1, "$lt"),
        };
        let sort = doc! { field: direction, "_id": direction };
        let Some(ListCursor { position, chat_id }) = self.after else {
            return vec![(query.clone(), sort)];
        };
        let at = stored_position(position);
        let same = doc! { field: at.clone(), "_id": { beyond: chat_id.as_str() } };
        let within = doc! { "$and": [query, same] };
        let others = doc! { "$and": [query, { field: { beyond: at } }] };
        vec![(within, doc! { "_id": direction }), (others, sort)]
    }
}

fn by_metadata<'a>(
    scope: &'a Scope,
    filter: &'a ChatFilter,
) -> Option<(&'a AppId, &'a MetadataFilter)> {
    filter.metadata.as_ref().map(|metadata| (&scope.app_id, metadata))
}

impl MongoStore {
    /// Reads the lists that together make one.
    pub(crate) async fn read_lists<T, F>(
        &self,
        lists: &[&'static ServedList],
        scope: &Scope,
        filter: &ChatFilter,
        read: impl Fn(&'static ServedList) -> F,
    ) -> Result<Vec<T>, StoreError>
    where
        F: Future<Output = Result<Vec<T>, Failure>>,
    {
        // Lists of no lifecycle are empty.
        let lists = match shown_lifecycles(scope, filter).next() {
            Some(_) => lists,
            None => &[],
        };
        let read = self.read(|| async {
            match filter.order {
                ChatOrder::Created => {}
                ChatOrder::Active => self.require(Shape::ListsByActivity).await?,
                ChatOrder::Title | ChatOrder::Sort => self.require(Shape::ListsByTitle).await?,
            }
            if filter.title_contains.is_some() {
                self.require(Shape::TitleSearch).await?;
            }
            if let Some(metadata) = &filter.metadata {
                self.require(Shape::MetadataLists).await?;
                // Each list that is read checks it, too, at its moment.
                if lists.is_empty() {
                    self.check_indexed(&scope.app_id, metadata).await?;
                }
            }
            try_join_all(lists.iter().copied().map(&read)).await
        });
        Ok(read.await?.into_iter().flatten().collect())
    }

    /// Lists the first chats of a range, and one more.
    pub(super) async fn list_within(
        &self,
        list: &ServedList,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Vec<ChatSession>, Failure> {
        let query = list_filter(scope, filter, list.range);
        let limit = limit.saturating_add(1);
        let read = ListRead::of(scope, filter, after);
        let found = self.rows_within(list, &query, read, limit, without_large_fields()).await?;
        found.iter().map(|raw| Ok(chat_session_record(raw)?)).collect()
    }

    /// Reads fields of the first sessions of a range that match a query.
    async fn rows_within(
        &self,
        list: &ServedList,
        query: &Document,
        read: ListRead<'_>,
        limit: usize,
        projection: Document,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let mut rows = Vec::new();
        for (filter, sort) in read.queries(query) {
            let find = SortedFind {
                filter,
                sort,
                index: session_index(list.index),
                limit: limit - rows.len(),
                projection: projection.clone(),
            };
            rows.extend(self.listed_rows(find, read.metadata).await?);
            if rows.len() >= limit {
                break;
            }
        }
        Ok(rows)
    }

    /// Returns the ids of the first chats of a range in an order, read from the index alone where it has all that the filter names.
    pub(crate) async fn listed_ids(
        &self,
        list: &ServedList,
        scope: &Scope,
        filter: &ChatFilter,
        sort: Document,
        limit: usize,
    ) -> Result<Vec<String>, Failure> {
        let query = list_filter(scope, filter, list.range);
        let (index, projection) = (session_index(list.index), doc! { "_id": 1 });
        let find = SortedFind { filter: query, sort, index, limit, projection };
        let found = self.listed_rows(find, by_metadata(scope, filter)).await?;
        Ok(found.iter().filter_map(|raw| raw.get_str("_id").ok().map(str::to_owned)).collect())
    }

    async fn listed_rows(
        &self,
        find: SortedFind,
        metadata: Option<(&AppId, &MetadataFilter)>,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        match metadata {
            None => find.read(&self.inner.chat_sessions).await,
            Some((app_id, metadata)) => self.indexed_rows(find, app_id, metadata).await,
        }
    }
}

/// Returns the field that lists in an order are sorted by, before the id.
fn ordered_by(order: ChatOrder) -> &'static str {
    match order {
        ChatOrder::Created => "created_at",
        ChatOrder::Active => ACTIVE_MINUTE,
        ChatOrder::Title => TITLE_KEY,
        ChatOrder::Sort => "sort",
    }
}

/// Returns the value of that field at a position.
fn stored_position(position: &Position) -> Bson {
    match position {
        Position::Created(at) | Position::Active(at) => DateTime::from_chrono(*at).into(),
        Position::Title(key) => key.as_str().into(),
        Position::Sort(sort) => (*sort).into(),
    }
}
