use std::time::Duration;

use bson::{Bson, Document, doc};
use mongodb::IndexModel;
use mongodb::options::IndexOptions;

/// An index that the store needs. If its name ends in `_ttl`, it removes expired documents.
#[derive(Debug)]
pub(crate) struct Index {
    pub(crate) name: &'static str,
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
    pub(crate) fn state_among(&self, existing: &[IndexModel]) -> IndexState {
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

    pub(crate) fn model(&self) -> IndexModel {
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

/// Whether an index exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum IndexState {
    /// The index exists, or was created now.
    Ready,
    /// The index does not exist. A service creates it when it starts.
    Missing,
    /// Another index has the same keys and another name, or the same name and other keys. If it has
    /// the same keys, queries use it.
    Conflicting,
}
