//! Lists that come in pages, newest first.

use bson::{DateTime as BsonTime, Document, doc};
use chrono::{DateTime, Utc};

/// One more than asked for tells whether there is another page.
pub(super) fn limit_and_one(limit: usize) -> i64 {
    i64::try_from(limit).unwrap_or(i64::MAX).saturating_add(1)
}

/// Returns the conditions for what comes after something in a list ordered by a time, then by an id,
/// both descending. The first names a range of the index, the second cuts it off exactly.
pub(super) fn older_than(
    time_field: &str,
    at: DateTime<Utc>,
    id_field: &str,
    id: &str,
) -> [Document; 2] {
    let at = BsonTime::from_chrono(at);
    let earlier = doc! { time_field: { "$lt": at } };
    let same = doc! { time_field: at, id_field: { "$lt": id } };
    [doc! { time_field: { "$lte": at } }, doc! { "$or": [earlier, same] }]
}
