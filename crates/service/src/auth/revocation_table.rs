use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::hash::Hash;

use chrono::{DateTime, Utc};
use persistence::RevocationEntry;
use records::{Credential, Revocation, RevocationTarget, TokenId, UserId};

/// The revocations in force, by what they revoke: for each target the one in all apps and those in single apps.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Table {
    tokens: HashMap<TokenId, Vec<Revocation>>,
    users: HashMap<UserId, Vec<Revocation>>,
}

impl Table {
    /// Takes over an entry of the list, and tells whether that has changed anything.
    pub(super) fn apply(&mut self, entry: RevocationEntry, now: DateTime<Utc>) -> bool {
        let is_in_force = entry.is_in_force(now);
        match entry.revocation.key.target.clone() {
            RevocationTarget::Token(id) => put(&mut self.tokens, id, entry.revocation, is_in_force),
            RevocationTarget::User(id) => put(&mut self.users, id, entry.revocation, is_in_force),
        }
    }

    /// Returns the revocations that cover one of some credentials.
    pub(super) fn covering<'a>(
        &'a self,
        credentials: &'a [Credential],
    ) -> impl Iterator<Item = &'a Revocation> {
        credentials.iter().flat_map(|credential| {
            let of_token = credential.token_id.as_ref().and_then(|id| self.tokens.get(id));
            let of_user = credential.subject.as_ref().and_then(|id| self.users.get(id));
            let all = of_token.into_iter().chain(of_user).flatten();
            all.filter(|revocation| revocation.covers(credential.issued_at))
        })
    }

    /// Returns the number of revocations.
    pub(super) fn len(&self) -> usize {
        self.tokens.values().chain(self.users.values()).map(Vec::len).sum()
    }
}

fn put<K: Eq + Hash>(
    targets: &mut HashMap<K, Vec<Revocation>>,
    target: K,
    revocation: Revocation,
    is_in_force: bool,
) -> bool {
    let held = targets.entry(target);
    if !is_in_force {
        let Entry::Occupied(mut held) = held else { return false };
        let before = held.get().len();
        held.get_mut().retain(|other| other.key != revocation.key);
        let after = held.get().len();
        if after == 0 {
            held.remove();
        }
        return after < before;
    }
    let held = held.or_default();
    match held.iter_mut().find(|other| other.key == revocation.key) {
        Some(other) if *other == revocation => false,
        Some(other) => {
            *other = revocation;
            true
        }
        None => {
            held.push(revocation);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use records::{AppId, RevocationKey};

    use super::*;

    fn entry(target: RevocationTarget, app: Option<&str>, is_lifted: bool) -> RevocationEntry {
        let now = now();
        let app_id = app.map(|app| AppId::parse(app).unwrap());
        let key = RevocationKey { target, app_id };
        let revocation = Revocation { key, issued_until: None, revoked_at: now, expires_at: None };
        RevocationEntry { revocation, is_lifted, changed_at: now }
    }

    fn now() -> DateTime<Utc> {
        DateTime::from_timestamp_secs(1_000_000).unwrap()
    }

    #[test]
    fn an_entry_is_taken_over_once_and_leaves_no_trace_when_it_is_lifted() {
        let now = now();
        let alice = RevocationTarget::User(UserId::parse("alice").unwrap());
        let token = RevocationTarget::Token(TokenId::parse("alice").unwrap());
        let mut table = Table::default();
        for target in [&alice, &token] {
            for app in [None, Some("acme_corp")] {
                assert!(table.apply(entry(target.clone(), app, false), now));
                assert!(!table.apply(entry(target.clone(), app, false), now), "the overlap");
            }
        }
        assert_eq!(table.len(), 4);
        let credential =
            Credential { subject: Some(UserId::parse("alice").unwrap()), ..Credential::default() };
        assert_eq!(table.covering(&[credential]).count(), 2);
        let mut expired = entry(alice.clone(), None, false);
        expired.revocation.expires_at = Some(now - TimeDelta::seconds(1));
        assert!(table.apply(expired, now));
        assert!(table.apply(entry(alice.clone(), Some("acme_corp"), true), now));
        assert!(!table.apply(entry(alice, Some("acme_corp"), true), now));
        assert!(table.users.is_empty());
        assert_eq!(table.len(), 2);
    }
}
