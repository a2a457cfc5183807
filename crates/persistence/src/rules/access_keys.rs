use chrono::{DateTime, Days, Utc};
use records::{AccessKey, AccessKeyKind, NewAccessKey};

/// For how many days an API key that has expired can still be listed.
const LISTED_DAYS: u64 = 30;

/// Returns the record of a new key.
pub(crate) fn created(key: NewAccessKey, now: DateTime<Utc>) -> AccessKey {
    AccessKey {
        id: key.secret.id(),
        digest: key.secret.digest(),
        kind: key.kind,
        label: key.label,
        bearer: key.bearer,
        apps: key.apps,
        created_at: now,
        expires_at: key.expires_at,
        last_used_at: None,
        revoked_at: None,
    }
}

/// Returns when the record of a key may be deleted; `None` for never.
pub(crate) fn forgotten_at(key: &AccessKey) -> Option<DateTime<Utc>> {
    let listed = match key.kind {
        AccessKeyKind::Api => Days::new(LISTED_DAYS),
        AccessKeyKind::SignIn => Days::new(0),
    };
    key.expires_at?.checked_add_days(listed)
}
