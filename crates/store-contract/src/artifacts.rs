//! The last artifact of a chat.

use std::sync::Arc;

use chrono::{DateTime, TimeDelta, Utc};
use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{Limits, NewArtifact, SizeLimit};
use serde_json::{Value, json};

use super::fixture::{TestChat, a_moment_passes, assert_invalid, message, nested};
use persistence::Store;

pub async fn all_six_fields_are_returned(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let updated_at = moment();
    let new = NewArtifact {
        ui_tool_id: Some("chart.$view".to_owned()),
        event_id: Some("evt 1".to_owned()),
        display: Some("inline".to_owned()),
        workflow_name: Some("research".to_owned()),
        payload: json!({"z": [1, {"a": null}], "a": "ü"}),
        updated_at: Some(updated_at),
    };
    let kept = chat.update_artifact(new.clone()).await.unwrap();
    assert_eq!(kept, new.kept_at(updated_at));
    assert_eq!(kept.updated_at, updated_at);
    assert_eq!(chat.get_artifact().await.unwrap(), Some(kept));
}

pub async fn missing_fields_stay_missing_and_the_default_time_is_the_write_time(
    store: Arc<dyn Store>,
) {
    let chat = TestChat::create(&store).await;
    a_moment_passes().await;
    let kept = chat.update_artifact(NewArtifact::default()).await.unwrap();
    let stored_at = chat.session().await.last_updated_at;
    assert!(stored_at > chat.session().await.created_at);
    assert_eq!(kept, NewArtifact::default().kept_at(stored_at));
    assert_eq!(chat.get_artifact().await.unwrap(), Some(kept));
}

pub async fn a_given_time_is_kept_to_the_millisecond(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let whole = moment();
    let given = whole + TimeDelta::nanoseconds(999_999);
    let new = NewArtifact { updated_at: Some(given), ..NewArtifact::default() };
    let kept = chat.update_artifact(new).await.unwrap();
    assert_eq!(kept.updated_at, whole);
    assert_eq!(chat.get_artifact().await.unwrap(), Some(kept));
}

pub async fn a_later_artifact_replaces_the_whole_old_one(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let former = NewArtifact { display: Some("inline".to_owned()), ..of(json!({"a": {"b": 1}})) };
    chat.update_artifact(former).await.unwrap();
    let kept = chat.update_artifact(of(json!({"a": {"c": 2}}))).await.unwrap();
    assert_eq!((&kept.display, &kept.payload), (&None, &json!({"a": {"c": 2}})));
    assert_eq!(chat.get_artifact().await.unwrap(), Some(kept));
}

pub async fn clearing_removes_the_artifact_and_is_idempotent(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("kept")]).await.unwrap();
    chat.update_artifact(of(json!(1))).await.unwrap();
    chat.clear_artifact().await.unwrap();
    assert_eq!(chat.get_artifact().await.unwrap(), None);
    let cleared = chat.whole().await;
    a_moment_passes().await;
    chat.clear_artifact().await.unwrap();
    assert_eq!(chat.whole().await, cleared);
    let kept = chat.update_artifact(of(json!(2))).await.unwrap();
    assert_eq!(chat.get_artifact().await.unwrap(), Some(kept));
}

pub async fn an_artifact_updates_the_chat_and_not_its_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append([message("kept")]).await.unwrap();
    let before = chat.whole().await;
    a_moment_passes().await;
    chat.update_artifact(of(json!(1))).await.unwrap();
    let mut after = chat.whole().await;
    assert!(after.session.last_updated_at > before.session.last_updated_at);
    after.session.last_updated_at = before.session.last_updated_at;
    after.artifact = None;
    assert_eq!(after, before);
}

pub async fn payloads_grow_large_and_small_again(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let large = |bytes: usize| Value::from("x".repeat(bytes));
    for payload in
        [json!(1), large(1 << 20), json!({"a": 2}), large(Limits::ARTIFACT_BYTES - 5), json!(null)]
    {
        chat.update_artifact(of(payload.clone())).await.unwrap();
        chat.append([message("between")]).await.unwrap();
        assert!(chat.get_artifact().await.unwrap().unwrap().payload == payload);
    }
    chat.update_artifact(of(large(1 << 20))).await.unwrap();
    chat.clear_artifact().await.unwrap();
    assert_eq!(chat.get_artifact().await.unwrap(), None);
}

pub async fn a_reader_sees_a_large_artifact_whole_while_it_is_replaced(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let numbered = |n: usize| NewArtifact {
        display: Some(n.to_string()),
        ..of(n.to_string().repeat(200_000 * (n % 3)).into())
    };
    chat.update_artifact(numbered(0)).await.unwrap();
    let writer = chat.clone();
    let writing = tokio::spawn(async move {
        for n in 1..20 {
            writer.update_artifact(numbered(n)).await.unwrap();
        }
    });
    while !writing.is_finished() {
        let artifact = chat.get_artifact().await.unwrap().unwrap();
        let n = artifact.display.unwrap().parse().unwrap();
        assert!(
            artifact.payload == numbered(n).payload,
            "artifact {n} is mixed with another artifact"
        );
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

pub async fn an_artifact_past_a_limit_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.update_artifact(of(json!("kept"))).await.unwrap();
    let before = chat.whole().await;
    let text = || Some("é".repeat(257));
    let empty = NewArtifact::default;
    let too_deep = format!("/payload{}", "/0".repeat(Limits::NESTING));
    let cases = [
        (NewArtifact { ui_tool_id: text(), ..empty() }, "/ui_tool_id", NotAdmitted),
        (NewArtifact { event_id: text(), ..empty() }, "/event_id", NotAdmitted),
        (NewArtifact { display: text(), ..empty() }, "/display", NotAdmitted),
        (NewArtifact { workflow_name: text(), ..empty() }, "/workflow_name", NotAdmitted),
        (of("x".repeat(Limits::ARTIFACT_BYTES).into()), "/payload", TooLarge(SizeLimit::Artifact)),
        (of(json!([{"\0": 1}])), "/payload/0/\0", NotAdmitted),
        (of(json!(u64::MAX)), "/payload", NotAdmitted),
        (of(nested(Limits::NESTING + 1)), &too_deep, NotAdmitted),
    ];
    for (artifact, pointer, kind) in cases {
        assert_invalid(chat.update_artifact(artifact).await, pointer, kind);
    }
    assert_eq!(chat.whole().await, before);
}

fn of(payload: Value) -> NewArtifact {
    NewArtifact { payload, ..NewArtifact::default() }
}

fn moment() -> DateTime<Utc> {
    DateTime::from_timestamp_millis(1_700_000_000_123).unwrap()
}
