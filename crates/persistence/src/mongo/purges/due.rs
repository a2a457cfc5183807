//! The queries for the chats that are due.

use bson::{Bson, DateTime, Document, doc};
use chrono::{DateTime as Time, Utc};
use mongodb::options::Hint;
use records::{AppId, Due, Lifecycle};

use crate::mongo::collections::{HOLD, session_index};
use crate::mongo::documents::{LIFECYCLE, LIFECYCLE_AT, NEWEST_VERSION};

/// Returns the filter for the chats of an app that are due. It agrees with [`Due::includes`].
fn due_filter(app_id: &AppId, due: Due, before: Time<Utc>) -> Document {
    let before = DateTime::from_chrono(before);
    let mut filter = doc! { "app_id": app_id.as_str() };
    if due == Due::Deleted {
        filter.insert(LIFECYCLE, Lifecycle::Deleted.number());
        filter.insert(LIFECYCLE_AT, doc! { "$lte": before });
    } else {
        let statuses: Vec<i32> = due.statuses().iter().map(|status| status.number()).collect();
        filter.insert("status", doc! { "$in": statuses });
        // The minute is in the index. It is never later than the last update.
        filter.insert("active_minute", doc! { "$lte": before });
        filter.insert("last_updated_at", doc! { "$lte": before });
        // Named one by one, as in lists. An active chat has no lifecycle.
        let mut lifecycles = vec![Bson::Null];
        if due != Due::Inactive {
            lifecycles.push(Lifecycle::Archived.number().into());
        }
        filter.insert(LIFECYCLE, doc! { "$in": lifecycles });
    }
    filter.insert(HOLD, Bson::Null);
    filter.insert("schema_version", doc! { "$lte": NEWEST_VERSION });
    filter
}

/// Returns the filter for those of them that are due for no other reason.
pub(super) fn only_due(
    app_id: &AppId,
    due: Due,
    before: Time<Utc>,
    others: &[(Due, Time<Utc>)],
) -> Document {
    let mut filter = due_filter(app_id, due, before);
    let others: Vec<_> = others.iter().map(|(due, at)| due_filter(app_id, *due, *at)).collect();
    if !others.is_empty() {
        filter.insert("$nor", others);
    }
    filter
}

pub(super) fn due_order(due: Due) -> Document {
    match due {
        Due::Deleted => doc! { LIFECYCLE_AT: 1 },
        Due::Completed | Due::Failed | Due::Abandoned | Due::Inactive => {
            doc! { "active_minute": 1 }
        }
    }
}

pub(super) fn due_index(due: Due) -> Hint {
    session_index(match due {
        Due::Deleted => "cs_app_lifecycle_at",
        Due::Completed | Due::Failed | Due::Abandoned | Due::Inactive => "cs_list_active",
    })
}
