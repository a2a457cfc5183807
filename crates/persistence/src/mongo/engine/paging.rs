//! Lists that are returned in pages, newest first.

use bson::{Bson, DateTime as BsonTime, Document, doc};
use chrono::{DateTime, Utc};

use crate::store::Direction;

/// Returns the limit plus one: the additional item shows whether there is another page.
pub(crate) fn limit_and_one(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

/// Returns the conditions for the items after a position in a list that is ordered by a time and
/// then by an id, both descending.
pub(crate) fn older_than(
    time_field: &str,
    at: DateTime<Utc>,
    id_field: &str,
    id: &str,
) -> [Document; 2] {
    below((time_field, BsonTime::from_chrono(at).into()), (id_field, id.into()))
}

/// Like [`older_than`], for a list that is ordered by any two fields.
pub(crate) fn below(first: (&str, Bson), second: (&str, Bson)) -> [Document; 2] {
    beyond(Direction::Descending, [first, second])
}

/// Returns the conditions for the items after a position in a list that is ordered by two fields, both in one direction. The
/// first condition selects a range of the index, the second makes it exact.
pub(crate) fn beyond(
    direction: Direction,
    [(first, at), (second, within)]: [(&str, Bson); 2],
) -> [Document; 2] {
    let (beyond, or_at) = match direction {
        Direction::Ascending => ("$gt", "$gte"),
        Direction::Descending => ("$lt", "$lte"),
    };
    let later = doc! { first: { beyond: &at } };
    let same = doc! { first: &at, second: { beyond: within } };
    [doc! { first: { or_at: at } }, doc! { "$or": [later, same] }]
}
