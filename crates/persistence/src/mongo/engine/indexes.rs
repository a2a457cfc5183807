use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::options::IndexOptions;
use mongodb::{Collection, IndexModel};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collections::COLLECTIONS;
use crate::mongo::engine::failure::{Failure, code};

/// The state of an index that the store needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IndexReport {
    /// The collection of the index.
    pub collection: String,
    /// The name of the index.
    pub name: String,
    /// The state of the index.
    pub state: IndexState,
}

/// Whether an index exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IndexState {
    /// The index exists, or was created now.
    Ready,
    /// The index does not exist. A service creates it when it starts.
    Missing,
    /// Another index has the same keys and another name, or the same name and other keys. If it has
    /// the same keys, queries use it.
    Conflicting,
}

/// 85: same keys, other name or options; 86: same name, other keys.
const CONFLICTS: [i32; 2] = [85, 86];
/// The collection does not exist.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// Creates the missing indexes.
///
/// Each index is created separately, so that a conflict of one does not prevent the others.
pub(crate) async fn ensure(store: &MongoStore) -> Result<Vec<IndexReport>, StoreError> {
    // A new database is recognised by having no collections, and an index creates one.
    store.read(|| store.read_format_once()).await?;
    let mut reports = Vec::new();
    for stored in COLLECTIONS {
        let collection = store.inner.database.collection(stored.name);
        for index in stored.indexes {
            let state = store.read(|| async { create(&collection, index.model()).await }).await?;
            let (collection, name) = (stored.name.to_owned(), index.name.to_owned());
            if state == IndexState::Conflicting {
                tracing::warn!(
                    collection,
                    index = name,
                    "an existing index conflicts with a required one"
                );
            }
            reports.push(IndexReport { collection, name, state });
        }
    }
    Ok(reports)
}

async fn create(
    collection: &Collection<RawDocumentBuf>,
    index: IndexModel,
) -> Result<IndexState, Failure> {
    match collection.create_index(index).await {
        Ok(_) => Ok(IndexState::Ready),
        Err(error) if code(&error).is_some_and(|code| CONFLICTS.contains(&code)) => {
            Ok(IndexState::Conflicting)
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the state of each index, and creates none.
pub(crate) async fn inspect(store: &MongoStore) -> Result<Vec<IndexReport>, StoreError> {
    let mut reports = Vec::new();
    for stored in COLLECTIONS {
        let collection = store.inner.database.collection(stored.name);
        let existing = store.read(|| existing(&collection)).await?;
        reports.extend(stored.indexes.iter().map(|index| IndexReport {
            collection: stored.name.to_owned(),
            name: index.name.to_owned(),
            state: index.state_among(&existing),
        }));
    }
    Ok(reports)
}

async fn existing(collection: &Collection<RawDocumentBuf>) -> Result<Vec<IndexModel>, Failure> {
    match collection.list_indexes().await {
        Ok(found) => Ok(found.try_collect().await?),
        Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// An index that the store needs. If its name ends in `_ttl`, it removes expired documents.
#[derive(Debug)]
pub(crate) struct Index {
    name: &'static str,
    /// The fields in order, each ascending (1) or descending (-1).
    keys: &'static [(&'static str, i32)],
    /// If set, only documents with this field have entries.
    required_field: Option<&'static str>,
}

impl Index {
    pub(crate) const fn of(name: &'static str, keys: &'static [(&'static str, i32)]) -> Self {
        Self { name, keys, required_field: None }
    }

    pub(crate) const fn only_with(self, field: &'static str) -> Self {
        Self { required_field: Some(field), ..self }
    }

    /// Returns the state of this index in a collection that has these, as the server would if it were created.
    fn state_among(&self, existing: &[IndexModel]) -> IndexState {
        let needed = self.model();
        let name = |index: &IndexModel| index.options.as_ref().and_then(|it| it.name.clone());
        let filter = |index: &IndexModel| {
            index.options.as_ref().and_then(|it| it.partial_filter_expression.clone())
        };
        let is_alike = |index: &&IndexModel| {
            orders(&index.keys) == orders(&needed.keys) && filter(index) == filter(&needed)
        };
        match existing.iter().find(|index| name(index) == name(&needed)) {
            Some(named) if is_alike(&named) => IndexState::Ready,
            Some(_) => IndexState::Conflicting,
            None if existing.iter().any(|index| is_alike(&index)) => IndexState::Conflicting,
            None => IndexState::Missing,
        }
    }

    fn model(&self) -> IndexModel {
        let removes_expired = self.name.ends_with("_ttl").then_some(Duration::ZERO);
        let partial = self.required_field.map(|field| doc! { field: { "$exists": true } });
        let options = IndexOptions::builder()
            .name(self.name.to_owned())
            .expire_after(removes_expired)
            .partial_filter_expression(partial)
            .build();
        let keys: Document =
            self.keys.iter().map(|(field, order)| ((*field).to_owned(), (*order).into())).collect();
        IndexModel::builder().keys(keys).options(options).build()
    }
}

/// Returns the fields of an index and their orders, whatever type of number an order has.
fn orders(keys: &Document) -> Vec<(&str, Option<bool>)> {
    let is_ascending = |order: &Bson| match order {
        Bson::Int32(order) => Some(*order > 0),
        Bson::Int64(order) => Some(*order > 0),
        Bson::Double(order) => Some(*order > 0.0),
        _ => None,
    };
    keys.iter().map(|(field, order)| (field.as_str(), is_ascending(order))).collect()
}
