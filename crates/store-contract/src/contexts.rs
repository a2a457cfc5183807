//! The context snapshot of a chat: replaced, merged, and limited in size.

use std::sync::Arc;

use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{ChatStatus, ContextSnapshot, JsonObject, Limits, SizeLimit};
use serde_json::json;

use super::fixture::{
    TestChat, a_moment_passes, assert_dense, assert_invalid, message, nested, numbered, object,
    race,
};
use persistence::Store;

pub async fn a_chat_without_a_snapshot_has_an_empty_one(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("hello")]).await.unwrap();
    assert_eq!(chat.load_context().await.unwrap(), ContextSnapshot::default());
}

pub async fn replacing_a_snapshot_keeps_nothing_of_the_old_one(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for data in [json!({"a": {"b": 1}, "c": 2}), json!({"a": {"d": null}}), json!({})] {
        let replaced = chat.replace_context(object(data.clone())).await.unwrap();
        assert_eq!(replaced.data, object(data));
        assert_eq!(chat.load_context().await.unwrap(), replaced);
    }
}

pub async fn merging_follows_the_merge_patch_rules(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let steps = [
        (json!({"a": {"b": 1, "c": null}}), json!({"a": {"b": 1}})),
        (json!({"a": {"d": [1]}}), json!({"a": {"b": 1, "d": [1]}})),
        (json!({"a": {"b": null, "d": {"e": 2}}}), json!({"a": {"d": {"e": 2}}})),
        (json!({"f": "g"}), json!({"a": {"d": {"e": 2}}, "f": "g"})),
        (json!({"a": [null]}), json!({"a": [null], "f": "g"})),
        (json!({"missing": null}), json!({"a": [null], "f": "g"})),
        (json!({}), json!({"a": [null], "f": "g"})),
    ];
    for (patch, expected) in steps {
        let merged = chat.merge_context(object(patch)).await.unwrap();
        assert_eq!(merged.data, object(expected));
        assert_eq!(chat.load_context().await.unwrap(), merged);
    }
    chat.replace_context(object(json!({"a": null}))).await.unwrap();
    let merged = chat.merge_context(object(json!({"b": 1}))).await.unwrap();
    assert_eq!(merged.data, object(json!({"a": null, "b": 1})));
}

pub async fn keys_keep_their_order(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.replace_context(object(json!({"z": 1, "a": {"y": 1, "b": 2, "d": 7}, "m": 3})))
        .await
        .unwrap();
    let merged =
        chat.merge_context(object(json!({"c": 4, "a": {"y": null, "x": 5}, "z": 6}))).await;
    let text = json!(merged.unwrap().data).to_string();
    assert_eq!(text, r#"{"z":6,"a":{"b":2,"d":7,"x":5},"m":3,"c":4}"#);
    let loaded = json!(chat.load_context().await.unwrap().data).to_string();
    assert_eq!(loaded, text);
}

pub async fn a_snapshot_records_the_sequence_at_which_it_was_taken(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    assert_eq!(chat.replace_context(JsonObject::new()).await.unwrap().sequence, 0);
    chat.append(numbered(0..3)).await.unwrap();
    assert_eq!(chat.load_context().await.unwrap().sequence, 0);
    assert_eq!(chat.replace_context(object(json!({"a": 1}))).await.unwrap().sequence, 3);
    chat.append_filler().await;
    assert_eq!(chat.load_context().await.unwrap().sequence, 3);
    assert_eq!(chat.merge_context(object(json!({"b": 2}))).await.unwrap().sequence, 503);
    assert_eq!(chat.load_context().await.unwrap().sequence, 503);
}

pub async fn a_snapshot_updates_the_chat_and_not_its_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("kept")]).await.unwrap();
    let mut before = chat.whole().await;
    for merge in [false, true] {
        a_moment_passes().await;
        let data = object(json!({"a": merge}));
        if merge {
            chat.merge_context(data).await.unwrap();
        } else {
            chat.replace_context(data).await.unwrap();
        }
        let after = chat.whole().await;
        assert!(after.session.last_updated_at > before.session.last_updated_at);
        before.session.last_updated_at = after.session.last_updated_at;
        assert_eq!(after.session, before.session);
        assert_eq!(after.messages, before.messages);
    }
}

pub async fn a_chat_accepts_snapshots_in_every_status(store: Arc<dyn Store>) {
    for status in ChatStatus::ALL {
        let chat = TestChat::create(&store).await;
        chat.set_status(status, None).await.unwrap();
        chat.replace_context(object(json!({"a": 1}))).await.unwrap();
        chat.merge_context(object(json!({"b": 2}))).await.unwrap();
        let loaded = chat.load_context().await.unwrap();
        assert_eq!(loaded.data, object(json!({"a": 1, "b": 2})), "{status}");
    }
}

pub async fn sixteen_racing_merges_all_survive(store: Arc<dyn Store>) {
    let small = object(json!({"base": true}));
    for base in [small, of_bytes(1 << 20)] {
        let chat = TestChat::create(&store).await;
        chat.replace_context(base.clone()).await.unwrap();
        let mergers = (0..16).map(|n| {
            let chat = chat.clone();
            let patch = object(json!({"shared": {(format!("k{n}")): n}}));
            async move { chat.merge_context(patch).await.unwrap() }
        });
        for (n, merged) in race(mergers).await.into_iter().enumerate() {
            assert_eq!(merged.data["shared"][format!("k{n}")], n);
        }
        let loaded = chat.load_context().await.unwrap().data;
        assert!(base.iter().all(|(key, value)| loaded[key] == *value));
        assert_eq!(loaded["shared"].as_object().unwrap().len(), 16);
    }
}

pub async fn merges_and_appends_that_race_lose_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let racers = (0..16).map(|n| {
        let chat = chat.clone();
        async move {
            for round in 0..5 {
                let patch = object(json!({(format!("{n}-{round}")): true}));
                chat.merge_context(patch).await.unwrap();
                chat.append([message(n)]).await.unwrap();
            }
        }
    });
    race(racers).await;
    let whole = chat.whole().await;
    assert_eq!(whole.context.data.len(), 80);
    assert_eq!(whole.messages.len(), 80);
    assert_dense(&whole.messages);
}

pub async fn a_reader_sees_a_large_snapshot_whole_while_it_is_replaced(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let digits = |n: usize| n.to_string().repeat(200_000 * (n % 3));
    let of = move |n: usize| object(json!({"n": n, "digits": digits(n)}));
    chat.replace_context(of(0)).await.unwrap();
    let writer = chat.clone();
    let writing = tokio::spawn(async move {
        for n in 1..20 {
            writer.replace_context(of(n)).await.unwrap();
        }
    });
    while !writing.is_finished() {
        let data = chat.load_context().await.unwrap().data;
        let n = data["n"].as_u64().and_then(|n| usize::try_from(n).ok()).unwrap();
        assert!(data == of(n), "snapshot {n} is mixed with another snapshot");
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

pub async fn snapshots_grow_large_and_small_again(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for bytes in [100, 1 << 20, 5 << 20, 100, Limits::SNAPSHOT_BYTES, 0] {
        let data = of_bytes(bytes);
        let replaced = chat.replace_context(data.clone()).await.unwrap();
        assert!(replaced.data == data, "{bytes} bytes");
        chat.append([message("between")]).await.unwrap();
        let loaded = chat.load_context().await.unwrap();
        assert!(loaded == replaced, "{bytes} bytes");
        let merged = chat.merge_context(object(json!({"pad": null, "small": 1}))).await.unwrap();
        assert_eq!(merged.data, object(json!({"small": 1})));
        assert_eq!(chat.load_context().await.unwrap(), merged);
    }
}

pub async fn a_snapshot_past_a_limit_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.replace_context(object(json!({"kept": true}))).await.unwrap();
    let before = chat.whole().await;
    let too_deep = format!("/a{}", "/0".repeat(Limits::NESTING - 1));
    let cases = [
        (of_bytes(Limits::SNAPSHOT_BYTES + 1), "", TooLarge(SizeLimit::Context)),
        (object(json!({"a": {"b\0": null}})), "/a/b\0", NotAdmitted),
        (object(json!({"a": [u64::MAX]})), "/a/0", NotAdmitted),
        (object(json!({"a": nested(Limits::NESTING)})), &too_deep, NotAdmitted),
    ];
    for (data, pointer, kind) in cases {
        assert_invalid(chat.replace_context(data.clone()).await, pointer, kind);
        assert_invalid(chat.merge_context(data).await, pointer, kind);
    }
    assert_eq!(chat.whole().await, before);
}

pub async fn a_merge_that_grows_the_snapshot_past_its_limit_is_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let base = of_bytes(5 << 20);
    chat.replace_context(base.clone()).await.unwrap();
    let patch = object(json!({"more": "x".repeat(4 << 20)}));
    assert_invalid(chat.merge_context(patch).await, "", TooLarge(SizeLimit::Context));
    assert!(chat.load_context().await.unwrap().data == base);
}

/// Makes a snapshot of exactly this many bytes, or the smallest possible one.
fn of_bytes(bytes: usize) -> JsonObject {
    let overhead = ContextSnapshot::check(&object(json!({"pad": ""}))).unwrap_or_default();
    let pad = "x".repeat(bytes.saturating_sub(overhead));
    object(json!({"pad": pad}))
}
