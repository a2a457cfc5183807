//! The keys that Reprise has issued.

use std::sync::Arc;

use chrono::DateTime;
use records::{
    AccessKeyKind, AccessKeyLabel, AccessKeySecret, Actor, AppId, Bearer, Ids, NewAccessKey,
    NewRevocation, Revocation, TeamId, UserId, Uuid7Ids,
};

use super::fixture::{a_moment_passes, race};
use persistence::{AccessKeyPage, Store};

/// Makes a key that no other test uses.
pub(crate) fn key(bearer: Bearer) -> NewAccessKey {
    // The second half of an id is random.
    let id = Uuid7Ids.mint("");
    let text = format!("{}{}_{id}{id}", AccessKeySecret::PREFIX, &id[16..]);
    NewAccessKey {
        secret: AccessKeySecret::parse(&text).unwrap(),
        kind: AccessKeyKind::Api,
        label: Some(AccessKeyLabel::parse("nightly import").unwrap()),
        bearer,
        apps: Some(vec![AppId::parse("acme_corp").unwrap()]),
        expires_at: DateTime::from_timestamp(4_000_000_000, 0),
    }
}

pub async fn an_access_key_is_found_as_it_was_created(store: Arc<dyn Store>) {
    let (user_id, team_id) = (UserId::parse("alice").unwrap(), TeamId::parse("red").unwrap());
    let bearers = [
        Bearer::Service,
        Bearer::Operator { user_id: user_id.clone() },
        Bearer::Support { user_id: user_id.clone() },
        Bearer::User { user_id: user_id.clone(), team_id: Some(team_id) },
        Bearer::User { user_id, team_id: None },
    ];
    for bearer in bearers {
        let new = key(bearer.clone());
        let id = new.secret.id();
        assert_eq!(store.find_access_key(&id).await.unwrap(), None);
        let created =
            store.create_access_key(Some(&Actor::command_line()), new.clone()).await.unwrap();
        assert_eq!((&created.id, created.digest), (&id, new.secret.digest()));
        assert_eq!((&created.bearer, &created.apps), (&bearer, &new.apps));
        assert_eq!((&created.label, created.expires_at), (&new.label, new.expires_at));
        assert_eq!((created.last_used_at, created.revoked_at), (None, None));
        assert_eq!(store.find_access_key(&id).await.unwrap(), Some(created));
    }
    let endless =
        NewAccessKey { expires_at: None, apps: None, label: None, ..key(Bearer::Service) };
    let created = store.create_access_key(Some(&Actor::command_line()), endless).await.unwrap();
    assert_eq!(store.find_access_key(&created.id).await.unwrap(), Some(created));
}

pub async fn creating_an_access_key_again_changes_nothing(store: Arc<dyn Store>) {
    let new = key(Bearer::Service);
    let created = store.create_access_key(Some(&Actor::command_line()), new.clone()).await.unwrap();
    a_moment_passes().await;
    let changed = NewAccessKey { apps: None, ..new };
    assert_eq!(
        store.create_access_key(Some(&Actor::command_line()), changed).await.unwrap(),
        created
    );
}

pub async fn an_access_key_is_revoked_once(store: Arc<dyn Store>) {
    let unknown = key(Bearer::Service).secret.id();
    assert_eq!(
        store.revoke_access_key(Some(&Actor::command_line()), &unknown).await.unwrap(),
        None
    );
    let created =
        store.create_access_key(Some(&Actor::command_line()), key(Bearer::Service)).await.unwrap();
    let rivals =
        (0..8).map(|_| {
            let (store, id) = (Arc::clone(&store), created.id.clone());
            async move {
                store.revoke_access_key(Some(&Actor::command_line()), &id).await.unwrap().unwrap()
            }
        });
    let answers = race(rivals).await;
    a_moment_passes().await;
    let again =
        store.revoke_access_key(Some(&Actor::command_line()), &created.id).await.unwrap().unwrap();
    assert!(again.revoked_at.is_some_and(|revoked_at| revoked_at >= created.created_at));
    assert!(answers.iter().all(|answer| *answer == again), "{answers:?}");
    assert_eq!(store.find_access_key(&created.id).await.unwrap(), Some(again));
}

pub async fn a_revoked_access_key_is_on_the_list_of_revocations(store: Arc<dyn Store>) {
    let [by_operator, by_itself] = [Some(Actor::command_line()), None];
    for actor in [by_operator, by_itself] {
        let created = store.create_access_key(actor.as_ref(), key(Bearer::Service)).await.unwrap();
        let new = created.revocation().unwrap();
        let expires_at = new.kept_until(created.created_at);
        let NewRevocation { key, .. } = new;
        let listed = async || {
            let page = store.list_revocations(100, None).await.unwrap();
            page.entries.into_iter().find(|entry| entry.revocation.key == key)
        };
        assert_eq!(listed().await, None);
        let revoked = store.revoke_access_key(actor.as_ref(), &created.id).await.unwrap().unwrap();
        let entry = listed().await.unwrap();
        let revoked_at = revoked.revoked_at.unwrap();
        let expected = Revocation { key: key.clone(), issued_until: None, revoked_at, expires_at };
        assert_eq!((entry.revocation, entry.is_lifted), (expected, false));
        // Revoking the key again changes nothing, also not on the list.
        assert!(store.lift_revocation(&Actor::command_line(), &key).await.unwrap());
        store.revoke_access_key(actor.as_ref(), &created.id).await.unwrap().unwrap();
        assert!(listed().await.unwrap().is_lifted);
    }
}

pub async fn the_last_use_of_an_access_key_is_noted(store: Arc<dyn Store>) {
    let created =
        store.create_access_key(Some(&Actor::command_line()), key(Bearer::Service)).await.unwrap();
    store.use_access_key(&created.id).await.unwrap();
    let first = store.find_access_key(&created.id).await.unwrap().unwrap().last_used_at;
    assert!(first >= Some(created.created_at));
    a_moment_passes().await;
    store.use_access_key(&created.id).await.unwrap();
    let second = store.find_access_key(&created.id).await.unwrap().unwrap().last_used_at;
    assert!(second > first);
    let unknown = key(Bearer::Service).secret.id();
    store.use_access_key(&unknown).await.unwrap();
    assert_eq!(store.find_access_key(&unknown).await.unwrap(), None);
}

pub async fn access_keys_are_listed_by_kind_page_by_page(store: Arc<dyn Store>) {
    let mut ids = Vec::new();
    for kind in [AccessKeyKind::Api, AccessKeyKind::SignIn, AccessKeyKind::Api] {
        for _ in 0..2 {
            let new = NewAccessKey { kind, ..key(Bearer::Service) };
            let created = store.create_access_key(None, new).await.unwrap();
            if kind == AccessKeyKind::Api {
                ids.push(created.id);
            }
        }
    }
    ids.sort();
    for limit in [1, 3, 4, 5] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_access_keys(AccessKeyKind::Api, limit, after.as_ref()).await;
            let page: AccessKeyPage = page.unwrap();
            assert!((1..=limit).contains(&page.keys.len()));
            listed.extend(page.keys.into_iter().map(|key| key.id));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, ids, "{limit} at a time");
    }
}
