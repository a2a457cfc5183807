//! Revoked tokens.

use std::collections::BTreeSet;
use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::{
    Actor, AppId, Clock as _, Ids as _, NewRevocation, RevocationKey, RevocationTarget,
    SystemClock, TokenId, UserId, Uuid7Ids,
};

use super::fixture::{a_moment_passes, race};
use persistence::{RevocationCursor, RevocationEntry, Store};

fn some_user() -> RevocationTarget {
    RevocationTarget::User(UserId::parse(Uuid7Ids.mint("user_")).unwrap())
}

fn some_token() -> RevocationTarget {
    RevocationTarget::Token(TokenId::parse(Uuid7Ids.mint("token_")).unwrap())
}

fn everywhere(target: RevocationTarget) -> RevocationKey {
    RevocationKey { target, app_id: None }
}

fn new(key: &RevocationKey) -> NewRevocation {
    NewRevocation { key: key.clone(), issued_until: None, expires_at: None }
}

fn in_year(year: i32) -> DateTime<Utc> {
    format!("{year}-01-01T00:00:00Z").parse().unwrap()
}

/// Returns everything on the list after a position, in the pages of a size.
async fn list(
    store: &Arc<dyn Store>,
    limit: usize,
    from: Option<RevocationCursor>,
) -> Vec<RevocationEntry> {
    let (mut listed, mut after) = (Vec::new(), from);
    loop {
        let page = store.list_revocations(limit, after.as_ref()).await.unwrap();
        assert!(page.entries.len() <= limit);
        listed.extend(page.entries);
        after = page.next;
        if after.is_none() {
            return listed;
        }
    }
}

/// Returns the entry of a key.
async fn entry(store: &Arc<dyn Store>, key: &RevocationKey) -> Option<RevocationEntry> {
    list(store, 10, None).await.into_iter().find(|entry| entry.revocation.key == *key)
}

pub async fn a_revocation_is_on_the_list_as_it_was_stored(store: Arc<dyn Store>) {
    let app_id = Some(AppId::parse("acme_corp").unwrap());
    let in_app = RevocationKey { target: some_user(), app_id };
    for (key, issued_until, expires_at) in [
        (everywhere(some_token()), None, Some(in_year(2100))),
        (everywhere(some_user()), None, None),
        (in_app, Some(in_year(2020)), Some(in_year(2101))),
    ] {
        let new = NewRevocation { key: key.clone(), issued_until, expires_at };
        let kept_until = new.kept_until(SystemClock.now());
        let revoked = store.revoke(&Actor::command_line(), new).await.unwrap();
        assert_eq!((&revoked.key, revoked.issued_until), (&key, issued_until));
        assert_eq!(revoked.expires_at, kept_until);
        let entry = entry(&store, &key).await.unwrap();
        assert_eq!((entry.revocation, entry.is_lifted), (revoked, false));
    }
}

pub async fn what_covers_new_tokens_is_never_forgotten_and_all_else_is(store: Arc<dyn Store>) {
    let forever =
        store.revoke(&Actor::command_line(), new(&everywhere(some_user()))).await.unwrap();
    assert_eq!(forever.expires_at, None);
    let of_token =
        store.revoke(&Actor::command_line(), new(&everywhere(some_token()))).await.unwrap();
    let issued_until = Some(in_year(2020));
    let earlier = NewRevocation { issued_until, ..new(&everywhere(some_user())) };
    let of_earlier = store.revoke(&Actor::command_line(), earlier).await.unwrap();
    for revocation in [of_token, of_earlier] {
        let kept_for = revocation.expires_at.unwrap() - revocation.revoked_at;
        assert_eq!(kept_for, TimeDelta::days(NewRevocation::DEFAULT_DAYS) + NewRevocation::MARGIN);
    }
}

pub async fn a_repeated_revocation_covers_what_either_covers(store: Arc<dyn Store>) {
    let key = everywhere(some_user());
    for (issued_until, expected) in [
        (Some(in_year(2020)), Some(in_year(2020))),
        (Some(in_year(2022)), Some(in_year(2022))),
        (Some(in_year(2021)), Some(in_year(2022))),
        (None, None),
        (Some(in_year(2023)), None),
    ] {
        let new = NewRevocation { issued_until, ..new(&key) };
        assert_eq!(store.revoke(&Actor::command_line(), new).await.unwrap().issued_until, expected);
    }
    assert_eq!(entry(&store, &key).await.unwrap().revocation.expires_at, None);
    let key = everywhere(some_token());
    for (expires_at, expected) in
        [(Some(in_year(2100)), 2100), (Some(in_year(2102)), 2102), (Some(in_year(2101)), 2102)]
    {
        let revoked = store
            .revoke(&Actor::command_line(), NewRevocation { expires_at, ..new(&key) })
            .await
            .unwrap();
        assert_eq!(revoked.expires_at, Some(in_year(expected) + NewRevocation::MARGIN));
    }
}

pub async fn a_lifted_revocation_is_marked_and_can_be_made_again(store: Arc<dyn Store>) {
    let key = everywhere(some_user());
    assert!(!store.lift_revocation(&Actor::command_line(), &key).await.unwrap());
    store.revoke(&Actor::command_line(), new(&key)).await.unwrap();
    for _ in 0..2 {
        assert!(store.lift_revocation(&Actor::command_line(), &key).await.unwrap());
        assert!(entry(&store, &key).await.unwrap().is_lifted);
    }
    // Nothing of the lifted one remains: it covered every token.
    let issued_until = Some(in_year(2020));
    let again = store
        .revoke(&Actor::command_line(), NewRevocation { issued_until, ..new(&key) })
        .await
        .unwrap();
    assert_eq!(again.issued_until, issued_until);
    assert!(again.expires_at.is_some());
    assert!(!entry(&store, &key).await.unwrap().is_lifted);
}

pub async fn revocations_of_users_tokens_and_apps_are_independent(store: Arc<dyn Store>) {
    let id = Uuid7Ids.mint("same_");
    let targets = [
        RevocationTarget::User(UserId::parse(&*id).unwrap()),
        RevocationTarget::Token(TokenId::parse(&*id).unwrap()),
    ];
    let apps = [None, Some("acme_corp"), Some("globex")];
    let apps = apps.map(|app| app.map(|app| AppId::parse(app).unwrap()));
    let with_apps = |target: RevocationTarget| {
        apps.clone().map(|app_id| RevocationKey { target: target.clone(), app_id })
    };
    let keys: Vec<_> = targets.into_iter().flat_map(with_apps).collect();
    for key in &keys {
        store.revoke(&Actor::command_line(), new(key)).await.unwrap();
    }
    for key in &keys {
        assert!(store.lift_revocation(&Actor::command_line(), key).await.unwrap());
        let lifted = list(&store, 3, None).await.into_iter().filter(|entry| entry.is_lifted);
        let lifted: BTreeSet<_> = lifted.map(|entry| entry.revocation.key).collect();
        let expected = keys.split_inclusive(|other| other == key).next().unwrap();
        assert_eq!(lifted, expected.iter().cloned().collect());
    }
}

pub async fn a_process_that_follows_the_list_misses_no_change(store: Arc<dyn Store>) {
    let mut keys: Vec<_> = (0..25).map(|_| everywhere(some_token())).collect();
    keys.sort();
    for key in &keys {
        store.revoke(&Actor::command_line(), new(key)).await.unwrap();
    }
    for limit in [1, 7, 25, 26] {
        let listed = list(&store, limit, None).await;
        let mut listed: Vec<_> = listed.into_iter().map(|entry| entry.revocation.key).collect();
        listed.sort();
        assert_eq!(listed, keys, "{limit} at a time");
    }
    let newest = list(&store, 100, None).await.last().unwrap().changed_at;
    a_moment_passes().await;
    store.lift_revocation(&Actor::command_line(), &keys[3]).await.unwrap();
    store.revoke(&Actor::command_line(), new(&keys[5])).await.unwrap();
    let cursor = RevocationCursor::before(newest, TimeDelta::zero());
    let changed = list(&store, 2, Some(cursor)).await;
    let of =
        |key: &RevocationKey| changed.iter().find(|entry| entry.revocation.key == *key).unwrap();
    assert!(of(&keys[3]).is_lifted && !of(&keys[5]).is_lifted);
    assert!(of(&keys[3]).changed_at > newest);
    // The position before a time includes the changes at that time.
    assert!(changed.iter().any(|entry| entry.changed_at == newest), "{changed:?}");
}

pub async fn racing_revocations_of_one_user_keep_the_widest(store: Arc<dyn Store>) {
    let key = everywhere(some_user());
    let rivals = (0..16).map(|index| {
        let (store, key) = (Arc::clone(&store), key.clone());
        let issued_until = Some(in_year(2000 + index));
        async move {
            store
                .revoke(&Actor::command_line(), NewRevocation { issued_until, ..new(&key) })
                .await
                .unwrap()
        }
    });
    race(rivals).await;
    assert_eq!(entry(&store, &key).await.unwrap().revocation.issued_until, Some(in_year(2015)));
}
