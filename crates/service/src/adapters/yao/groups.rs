//! The groups of a list by time, as Yao's user interface shows them.

use chrono::{DateTime, Datelike as _, Days, NaiveDate, Utc};
use chrono_tz::Tz;
use records::ChatSession;
use serde::Serialize;
use utoipa::ToSchema;

use super::wire::SessionItem;

/// The key and the label of each group, in their order.
const GROUPS: [(&str, &str); 5] = [
    ("today", "Today"),
    ("yesterday", "Yesterday"),
    ("this_week", "This Week"),
    ("this_month", "This Month"),
    ("earlier", "Earlier"),
];

/// The sessions of a page that belong to one time group.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = ChatSessionGroup)]
pub(super) struct SessionGroup {
    #[schema(example = "Today")]
    label: &'static str,
    #[schema(example = "today")]
    key: &'static str,
    chats: Vec<SessionItem>,
    count: usize,
}

/// Groups the sessions of a page by when something was last said. Groups without sessions are left out.
pub(super) fn grouped(chats: Vec<ChatSession>, now: DateTime<Utc>, zone: Tz) -> Vec<SessionGroup> {
    let mut members: [Vec<SessionItem>; 5] = Default::default();
    let date = |at: DateTime<Utc>| at.with_timezone(&zone).date_naive();
    let today = date(now);
    for chat in chats {
        let at = date(chat.last_message_at.unwrap_or(chat.created_at));
        members[group_of(at, today)].push(chat.into());
    }
    let groups = GROUPS.into_iter().zip(members).filter(|(_, chats)| !chats.is_empty());
    let group = |((key, label), chats): ((_, _), Vec<_>)| SessionGroup {
        label,
        key,
        count: chats.len(),
        chats,
    };
    groups.map(group).collect()
}

/// Returns the position of the group of a date. Weeks begin on Sunday; what is after today is of today.
fn group_of(date: NaiveDate, today: NaiveDate) -> usize {
    let weekday = u64::from(today.weekday().num_days_from_sunday());
    let sunday = today.checked_sub_days(Days::new(weekday)).unwrap_or(today);
    if date >= today {
        0
    } else if Some(date) == today.pred_opt() {
        1
    } else if date >= sunday {
        2
    } else if (date.year(), date.month()) == (today.year(), today.month()) {
        3
    } else {
        4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_sunday() {
        let date = |text: &str| text.parse::<NaiveDate>().unwrap();
        // A Wednesday.
        let today = date("2025-10-15");
        for (at, group) in [
            ("2025-10-16", 0),
            ("2025-10-15", 0),
            ("2025-10-14", 1),
            ("2025-10-13", 2),
            ("2025-10-12", 2),
            ("2025-10-11", 3),
            ("2025-10-01", 3),
            ("2025-09-30", 4),
            ("2024-10-15", 4),
        ] {
            assert_eq!(group_of(date(at), today), group, "{at}");
        }
    }
}
