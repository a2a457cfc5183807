//! Lists that are returned in pages, newest first.

use bson::{Bson, DateTime as BsonTime, Document, doc};
use chrono::{DateTime, Utc};

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

/// Like [`older_than`], for a list that is ordered by any two fields. The first condition selects a
/// range of the index, the second makes it exact.
pub(crate) fn below((first, at): (&str, Bson), (second, within): (&str, Bson)) -> [Document; 2] {
    let earlier = doc! { first: { "$lt": &at } };
    let same = doc! { first: &at, second: { "$lt": within } };
    [doc! { first: { "$lte": at } }, doc! { "$or": [earlier, same] }]
}
