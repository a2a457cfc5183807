//! Decides which announced users are present; shared by both stores.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use records::{DisplayName, Limits, Participant, Present, UserId};

use crate::store::ChatPresence;

/// A connection as announced.
#[derive(Debug, Clone)]
pub(crate) struct Announced {
    pub(crate) user_id: UserId,
    /// When the connection was first announced.
    pub(crate) since: DateTime<Utc>,
    /// From this time on it is excluded from presence.
    pub(crate) expires_at: DateTime<Utc>,
}

impl ChatPresence {
    /// Returns the users who are present at `now`.
    pub(crate) fn at(
        now: DateTime<Utc>,
        announced: impl IntoIterator<Item = Announced>,
        participants: &[Participant],
    ) -> Self {
        let mut by_user: HashMap<UserId, Present> = HashMap::new();
        let mut first_expiry = None;
        for Announced { user_id, since, expires_at } in announced {
            if expires_at <= now {
                continue;
            }
            first_expiry =
                first_expiry.map_or(Some(expires_at), |first| Some(expires_at.min(first)));
            let present = by_user.entry(user_id.clone()).or_insert_with(|| Present {
                display_name: None,
                user_id,
                since,
                connections: 0,
            });
            present.since = present.since.min(since);
            present.connections += 1;
        }
        let count = by_user.len() as u64;
        let mut present: Vec<Present> = by_user.into_values().collect();
        present.sort_by(|a, b| (a.since, &a.user_id).cmp(&(b.since, &b.user_id)));
        present.truncate(Limits::PRESENT);
        let names = names(participants);
        for present in &mut present {
            present.display_name = names.get(&present.user_id).copied().cloned();
        }
        let lasting = first_expiry.and_then(|first| (first - now).to_std().ok());
        Self { present, count, lasting }
    }
}

fn names(participants: &[Participant]) -> HashMap<&UserId, &DisplayName> {
    let named = participants.iter();
    named.filter_map(|of| Some((&of.user_id, of.display_name.as_ref()?))).collect()
}
