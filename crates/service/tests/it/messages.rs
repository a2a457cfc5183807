use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::Client;

async fn chat_of(client: &Client, count: usize) -> String {
    let path = client.create_chat("c1").await;
    let message = |n| json!({"role": "user", "name": "user", "content": format!("number {n}")});
    let messages: Vec<_> = (0..count).map(message).collect();
    let answer = client.post(&format!("{path}/messages"), json!({"messages": messages})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    path
}

fn sequences(answer: &Value) -> Vec<u64> {
    let messages = answer["data"].as_array().unwrap().iter();
    messages.map(|m| m["sequence"].as_u64().unwrap()).collect()
}

#[tokio::test]
async fn one_message_is_appended_and_read_back() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let message = json!({
        "event_id": "evt_msg_001",
        "role": "assistant",
        "name": "interviewer",
        "content": "What features should it include?",
        "timestamp": "2025-10-02T10:00:05.000Z",
        "metadata": {"source": "test"},
        "tool_calls": [{"id": "t1", "type": "function"}],
    });
    let messages = format!("{path}/messages");
    let answer = client.post(&messages, message.clone()).await;
    assert_json_snapshot!("append", answer.snapshot());
    assert_json_snapshot!("append_again", client.post(&messages, message).await.snapshot());
    assert_json_snapshot!("list", client.get(&messages).await.snapshot());
    assert_json_snapshot!("get", client.get(&format!("{messages}/0")).await.snapshot());
}

#[tokio::test]
async fn a_batch_answers_for_each_message_in_order() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let batch = json!({"messages": [
        {"event_id": "e1", "role": "user", "content": "one"},
        {"role": "assistant", "agent_name": "planner", "content": {"two": [2]}},
        {"event_id": "e1", "role": "user", "content": "one"},
    ]});
    let answer = client.post(&format!("{path}/messages"), batch).await;
    assert_json_snapshot!("append_batch", answer.snapshot());
}

#[tokio::test]
async fn an_event_id_repeated_with_another_body_is_a_conflict() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let message = |content| json!({"event_id": "e1", "role": "user", "content": content});
    client.post(&path, message("one")).await;
    let single = client.post(&path, message("two")).await;
    assert_json_snapshot!("conflict", single.snapshot());
    let batch = json!({"messages": [{"role": "user", "content": "new"}, message("two")]});
    let batch = client.post(&path, batch).await;
    assert_eq!(batch.culprit(), "/messages/1/event_id");
    let stored = client.get(&path).await.body();
    assert_eq!(sequences(&stored), [0]);
}

#[tokio::test]
async fn an_ended_chat_takes_no_more_messages_but_still_answers_repeats() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let messages = format!("{path}/messages");
    let message = json!({"event_id": "e1", "role": "user", "content": "one"});
    client.post(&messages, message.clone()).await;
    client.poke(&format!("{path}/complete")).await;
    assert_eq!(client.post(&messages, message).await.status, 200);
    let new = client.post(&messages, json!({"role": "user", "content": "late"})).await;
    assert_json_snapshot!("ended", new.snapshot());
}

#[tokio::test]
async fn messages_are_read_by_range_and_from_the_end() {
    let client = Client::open();
    let path = chat_of(&client, 7).await;
    let cases: [(&str, &[u64], bool); 9] = [
        ("", &[0, 1, 2, 3, 4, 5, 6], false),
        ("?after=-1&limit=2", &[0, 1], true),
        ("?after=1&limit=3", &[2, 3, 4], true),
        ("?after=2&before=5", &[3, 4], false),
        ("?before=2", &[0, 1], false),
        ("?newest=2", &[5, 6], true),
        ("?newest=2&before=3", &[1, 2], true),
        ("?after=6", &[], false),
        ("?after=9223372036854775807", &[], false),
    ];
    for (query, expected, has_more) in cases {
        let answer = client.get(&format!("{path}/messages{query}")).await.body();
        assert_eq!(sequences(&answer), expected, "{query}");
        assert_eq!(answer["next_cursor"].is_string(), has_more, "{query}");
        assert_eq!(answer["last_sequence"], 7, "{query}");
    }
}

#[tokio::test]
async fn a_range_of_messages_is_read_page_by_page() {
    let client = Client::open();
    let path = format!("{}/messages", chat_of(&client, 7).await);
    for (query, pages) in [
        ("?limit=3", vec![vec![0, 1, 2], vec![3, 4, 5], vec![6]]),
        ("?after=1&before=6&limit=2", vec![vec![2, 3], vec![4, 5]]),
        ("?newest=3", vec![vec![4, 5, 6], vec![1, 2, 3], vec![0]]),
        ("?newest=2&before=3", vec![vec![1, 2], vec![0]]),
    ] {
        let mut address = format!("{path}{query}");
        for (number, expected) in pages.iter().enumerate() {
            let page = client.get(&address).await.body();
            assert_eq!(sequences(&page), *expected, "{address}");
            let next = page["next_cursor"].as_str();
            assert_eq!(next.is_none(), number + 1 == pages.len(), "{address}");
            address = format!("{path}{query}&cursor={}", next.unwrap_or_default());
        }
    }
    let answer = client.get(&format!("{path}?cursor=-1")).await;
    assert_eq!((answer.problem().0, answer.culprit()), (422, "cursor".to_owned()));
}

#[tokio::test]
async fn a_message_is_changed_in_place() {
    let client = Client::open();
    let path = format!("{}/messages/1", chat_of(&client, 3).await);
    let edit = json!({"content": ["changed"], "metadata": {"by": "me"}});
    let edited = client.patch(&path, edit).await;
    assert_json_snapshot!("update", edited.snapshot());
    assert_eq!(client.get(&path).await.body(), edited.body());
    let nulled = client.patch(&path, json!({"content": null})).await.body();
    assert_eq!(nulled["content"], Value::Null);
    let nothing = client.patch(&path, json!({"name": null})).await;
    assert_json_snapshot!("update_nothing", nothing.snapshot());
}

#[tokio::test]
async fn a_deleted_message_leaves_a_tombstone() {
    let client = Client::open();
    let path = chat_of(&client, 3).await;
    let message = format!("{path}/messages/1");
    let deleted = client.delete(&message).await;
    assert_json_snapshot!("delete", deleted.snapshot());
    assert_eq!(client.delete(&message).await.body(), deleted.body());
    let edit = client.patch(&message, json!({"content": "x"})).await;
    assert_eq!(edit.problem(), (404, "message-not-found".to_owned()));
    let left = client.get(&format!("{path}/messages")).await.body();
    assert_eq!(sequences(&left), [0, 1, 2]);
}

#[tokio::test]
async fn a_missing_message_is_not_found() {
    let client = Client::open();
    let path = chat_of(&client, 1).await;
    let answer = client.get(&format!("{path}/messages/1")).await;
    assert_json_snapshot!("message_not_found", answer.snapshot());
    for sequence in ["-1", "x", "9223372036854775808", "%00", "1.0"] {
        let answer = client.get(&format!("{path}/messages/{sequence}")).await;
        assert_eq!(answer.problem(), (422, "invalid-request".to_owned()));
        assert_eq!(answer.culprit(), "sequence");
    }
}

#[tokio::test]
async fn initial_messages_are_stored_once() {
    let client = Client::open();
    let path = format!("{}/initial-messages", client.create_chat("c1").await);
    let body = json!({"messages": [{"content": {"text": "Create a todo app"}}]});
    let first = client.post(&path, body.clone()).await;
    assert_json_snapshot!("initial", first.snapshot());
    let again = client.post(&path, body).await;
    assert_json_snapshot!("initial_again", again.snapshot());
    let single = client.post(&path, json!({"content": "and more"})).await;
    assert_eq!((single.status, &single.body()["last_sequence"]), (201, &json!(2)));
}

/// Fields beside which a message needs no content.
const INSTEAD_OF_CONTENT: [&str; 6] =
    ["content_blocks", "function_call", "props", "refusal", "tool_calls", "tool_responses"];

#[tokio::test]
async fn the_content_is_required_unless_another_field_replaces_it() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let missing = client.post(&path, json!({"role": "user"})).await;
    assert_json_snapshot!("content_missing", missing.snapshot());
    let in_batch = json!({"messages": [{"role": "user", "content": ""}, {"role": "user"}]});
    assert_eq!(client.post(&path, in_batch).await.culprit(), "/messages/1/content");
    for instead in INSTEAD_OF_CONTENT {
        let message = json!({"role": "assistant", instead: "something"});
        assert_eq!(client.post(&path, message).await.status, 201, "{instead}");
        let null = json!({"role": "assistant", instead: null});
        assert_eq!(client.post(&path, null).await.status, 422, "{instead}");
    }
    let null = json!({"role": "assistant", "content": null});
    assert_eq!(client.post(&path, null).await.status, 201);
}

#[tokio::test]
async fn the_fields_for_user_interfaces_are_stored_as_given() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let path = format!("{chat}/messages");
    let message = json!({
        "event_id": "r1:m1", "role": "assistant", "message_id": "m1", "type": "image", "props": {"url": "a.png"},
        "assistant_id": "painter", "connector": "deepseek.v3", "mode": "chat", "tool_error": "no such file",
        "content_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}],
    });
    let answer = client.post(&path, message.clone()).await;
    assert_eq!((answer.status, &answer.body()["noted"]), (201, &Value::Null));
    assert_eq!(client.post(&path, message.clone()).await.status, 200, "a repeat");
    let stored = client.get(&format!("{path}/0")).await.body();
    for (field, value) in message.as_object().unwrap() {
        assert_eq!(stored[field], *value, "{field}");
    }
    let meta = client.get(&format!("{chat}/meta")).await.body();
    assert_eq!(
        (&meta["last_connector"], &meta["last_mode"]),
        (&json!("deepseek.v3"), &json!("chat"))
    );
    for (field, wrong) in [
        ("message_id", json!("")),
        ("message_id", json!(7)),
        ("assistant_id", json!("a\u{200b}")),
        ("connector", json!({})),
        ("mode", json!("")),
        ("type", json!("t".repeat(129))),
    ] {
        let mut message = json!({"role": "user", "content": "x"});
        message[field] = wrong;
        let refused = client.post(&path, message).await;
        assert_eq!((refused.status, refused.culprit()), (422, format!("/{field}")));
    }
}

#[tokio::test]
async fn an_edit_may_set_the_type_and_the_properties() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let message = json!({"role": "user", "content": "x", "type": "text", "mode": "chat"});
    client.post(&path, message).await;
    let path = format!("{path}/0");
    let edited = client.patch(&path, json!({"props": {"a": 1}, "name": null})).await.body();
    assert_eq!((&edited["type"], &edited["props"]), (&json!("text"), &json!({"a": 1})));
    let edited = client.patch(&path, json!({"type": "image"})).await.body();
    assert_eq!((&edited["type"], &edited["props"]), (&json!("image"), &json!({"a": 1})));
    assert_eq!((&edited["content"], &edited["mode"]), (&json!("x"), &json!("chat")));
    let refused = client.patch(&path, json!({"type": ""})).await;
    assert_eq!((refused.status, refused.culprit().as_str()), (422, "/type"));
    let refused = client.patch(&path, json!({"mode": "task"})).await;
    assert_eq!(refused.status, 422);
    let nothing = client.patch(&path, json!({"type": null, "props": null})).await;
    assert_eq!(nothing.status, 422);
}

#[tokio::test]
async fn agent_name_is_an_alternative_to_name() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let same = json!({"role": "assistant", "name": "a", "agent_name": "a", "content": 1});
    assert_eq!(client.post(&path, same).await.status, 201);
    let other = json!({"role": "assistant", "name": "a", "agent_name": "b", "content": 1});
    let refused = client.post(&path, other).await;
    assert_eq!((refused.status, refused.culprit().as_str()), (422, "/agent_name"));
}

#[tokio::test]
async fn a_speaker_in_the_role_is_moved_to_the_name_on_request() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    let message = json!({"role": "WebSurfer", "content": "found it"});
    client.post(&format!("{path}?speaker=role"), message.clone()).await;
    client.post(&format!("{path}?speaker=name"), message).await;
    let stored = client.get(&path).await.body();
    let speakers: Vec<_> = stored["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|m| (m["role"].clone(), m["name"].clone()))
        .collect();
    let expected = [(json!("assistant"), json!("WebSurfer")), (json!("WebSurfer"), Value::Null)];
    assert_eq!(speakers, expected);
}

#[tokio::test]
async fn a_role_is_required_and_bounded() {
    let client = Client::open();
    let path = format!("{}/messages", client.create_chat("c1").await);
    for message in [
        json!({"content": "x"}),
        json!({"role": null, "content": "x"}),
        json!({"role": "", "content": "x"}),
        json!({"role": "r".repeat(129), "content": "x"}),
        json!({"role": 5, "content": "x"}),
    ] {
        let answer = client.post(&path, message).await;
        assert_eq!((answer.status, answer.culprit().as_str()), (422, "/role"));
    }
}
