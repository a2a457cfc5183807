//! The versions of the context snapshot of a chat.

use std::collections::BTreeSet;
use std::sync::Arc;

use records::{ContextSnapshot, Limits};
use serde_json::json;

use super::fixture::{TestChat, numbered, object, race};
use persistence::{ContextVersionPage, Store};

pub async fn a_chat_without_snapshots_has_no_versions(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(chat.context_versions().await.unwrap(), []);
    for version in [0, 1, u64::MAX] {
        assert_eq!(chat.context_version(version).await.unwrap(), None);
    }
}

pub async fn every_written_snapshot_is_a_version(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut written = Vec::new();
    for n in 0..30_u64 {
        chat.append(numbered(0..2)).await.unwrap();
        // Small snapshots are stored in the session, large ones outside of it.
        let text = "x".repeat(if n % 3 == 0 { 9_000 } else { 10 });
        let data = object(json!({"n": n, "text": text, n.to_string(): null}));
        written.push(if n % 2 == 0 {
            chat.replace_context(data).await.unwrap()
        } else {
            chat.merge_context(data).await.unwrap()
        });
        let newest = chat.context_version(n + 1).await.unwrap().unwrap();
        assert_eq!(newest.data, chat.load_context().await.unwrap().data);
    }
    let versions = chat.context_versions().await.unwrap();
    assert_eq!(versions.len(), 30);
    for (expected, listed) in written.iter().zip(versions.iter().rev()) {
        let kept = chat.context_version(listed.version).await.unwrap().unwrap();
        assert_eq!(kept.version, *listed);
        assert_eq!((kept.version.sequence, &kept.data), (expected.sequence, &expected.data));
        assert_eq!(listed.bytes, ContextSnapshot::check(&expected.data).unwrap() as u64);
    }
    let numbers: Vec<u64> = versions.iter().map(|version| version.version).collect();
    assert_eq!(numbers, (1..=30).rev().collect::<Vec<_>>());
    assert!(versions.is_sorted_by(|later, earlier| later.created_at >= earlier.created_at));
    assert_eq!(chat.context_version(31).await.unwrap(), None);
    let head = store.confirmed_head(&chat.scope, &chat.id).await.unwrap();
    assert_eq!(head.context_version, 30);
}

pub async fn versions_are_listed_newest_first_in_pages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for n in 0..23 {
        chat.replace_context(object(json!({"n": n}))).await.unwrap();
    }
    let expected = chat.context_versions().await.unwrap();
    for limit in [1, 2, 5, 8, 22, 23, 24] {
        let (mut listed, mut before) = (Vec::new(), None);
        loop {
            let page = store.list_context_versions(&chat.scope, &chat.id, limit, before).await;
            let page = page.unwrap();
            assert!((1..=limit).contains(&page.versions.len()));
            listed.extend(page.versions);
            before = page.next;
            if before.is_none() {
                break;
            }
        }
        assert_eq!(listed, expected, "{limit} at a time");
    }
    let none = ContextVersionPage { versions: Vec::new(), next: None };
    for before in [0, 1] {
        let page = store.list_context_versions(&chat.scope, &chat.id, 5, Some(before)).await;
        assert_eq!(page.unwrap(), none);
    }
}

pub async fn versions_are_returned_with_any_keys(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let odd =
        object(json!({"a.b": 1, "$set": {"$literal": ["$last_sequence"], "": {"$a": "$$ROOT"}}}));
    for n in 0..12 {
        let mut data = odd.clone();
        data.insert("n".to_owned(), json!(n));
        chat.replace_context(data).await.unwrap();
    }
    for n in 0..12_u64 {
        let kept = chat.context_version(n + 1).await.unwrap().unwrap();
        let mut expected = odd.clone();
        expected.insert("n".to_owned(), json!(n));
        assert_eq!(kept.data, expected);
    }
}

pub async fn a_refused_snapshot_leaves_no_version(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.replace_context(object(json!({"a": 1}))).await.unwrap();
    let before = chat.context_versions().await.unwrap();
    let large = object(json!({"x": "y".repeat(Limits::SNAPSHOT_BYTES)}));
    chat.replace_context(large.clone()).await.unwrap_err();
    chat.merge_context(large).await.unwrap_err();
    assert_eq!(chat.context_versions().await.unwrap(), before);
}

pub async fn every_racing_snapshot_gets_its_own_version(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let writers = (0..8).map(|writer| {
        let chat = chat.clone();
        async move {
            let mut written = Vec::new();
            for n in 0..6 {
                let mark = json!({"mark": [writer, n]});
                written.push(if writer % 2 == 0 {
                    chat.replace_context(object(mark)).await.unwrap()
                } else {
                    chat.merge_context(object(mark)).await.unwrap()
                });
            }
            written
        }
    });
    let written: Vec<ContextSnapshot> = race(writers).await.into_iter().flatten().collect();
    let mut kept = BTreeSet::new();
    for version in 1..=48 {
        let snapshot = chat.context_version(version).await.unwrap().unwrap();
        assert!(kept.insert(json!(snapshot.data["mark"]).to_string()), "{version} is listed twice");
    }
    let acknowledged = written.iter().map(|written| json!(written.data["mark"]).to_string());
    assert_eq!(kept, acknowledged.collect());
    assert_eq!(chat.context_versions().await.unwrap().len(), 48);
}

pub async fn the_newest_hundred_versions_are_kept(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let written = ContextVersionPage::KEPT + 20;
    for n in 1..=written {
        let text = "x".repeat(if n % 40 == 0 { 9_000 } else { 1 });
        chat.replace_context(object(json!({"n": n, "text": text}))).await.unwrap();
    }
    let versions = chat.context_versions().await.unwrap();
    let numbers: Vec<u64> = versions.iter().map(|version| version.version).collect();
    assert_eq!(numbers, (21..=written).rev().collect::<Vec<_>>());
    for version in [1, 19, 20] {
        assert_eq!(chat.context_version(version).await.unwrap(), None);
    }
    for version in [21, 40, 80, written] {
        let kept = chat.context_version(version).await.unwrap().unwrap();
        assert_eq!(kept.data["n"], version);
    }
}
