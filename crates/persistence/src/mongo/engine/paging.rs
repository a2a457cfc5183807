//! Lists that come in pages, newest first.

use bson::{Bson, DateTime as BsonTime, Document, doc};
use chrono::{DateTime, Utc};

/// One more than asked for tells whether there is another page.
pub(crate) fn limit_and_one(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

/// Returns the conditions for what comes after something in a list ordered by a time, then by an id,
/// both descending.
pub(crate) fn older_than(
    time_field: &str,
    at: DateTime<Utc>,
    id_field: &str,
    id: &str,
) -> [Document; 2] {
    below((time_field, BsonTime::from_chrono(at).into()), (id_field, id.into()))
}

/// The same for a list ordered by any two fields. The first condition names a range of the index, the
/// second cuts it off exactly.
pub(crate) fn below((first, at): (&str, Bson), (second, within): (&str, Bson)) -> [Document; 2] {
    let earlier = doc! { first: { "$lt": &at } };
    let same = doc! { first: &at, second: { "$lt": within } };
    [doc! { first: { "$lte": at } }, doc! { "$or": [earlier, same] }]
}
