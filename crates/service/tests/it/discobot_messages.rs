//! Messages of the AI SDK in the sessions of Discobot.

use serde_json::{Value, json};

use crate::discobot::{Clients, assistant, clients, text, user};

const MESSAGES: &str = "/sessions/default/messages";
const NATIVE: &str = "/api/chats/acme/default";

fn call(state: &str, more: Value) -> Value {
    let mut part = json!({"type": "dynamic-tool", "toolName": "search", "toolCallId": "c1", "state": state,
        "input": {"q": "x"}});
    let Value::Object(more) = more else { panic!("{more}") };
    part.as_object_mut().unwrap().extend(more);
    part
}

impl Clients {
    /// Says something, and answers with a message of these parts.
    async fn answered(&self, parts: Value) {
        assert_eq!(self.start(user("m1", "Hello")).await.status, 202);
        let finished = self.finish("m1", json!([assistant("m2", parts)])).await;
        assert_eq!(finished.status, 200, "{}", finished.text);
    }

    async fn update(&self, id: &str, changes: Value) {
        let updated = self.chat.patch(&format!("{MESSAGES}/{id}"), changes).await;
        assert_eq!((updated.status, &*updated.text), (204, ""));
    }

    /// Returns the number of messages that were ever stored.
    async fn stored(&self) -> Value {
        self.api.get(NATIVE).await.body()["last_sequence"].clone()
    }
}

#[tokio::test]
async fn messages_are_stored_and_returned_as_they_are() {
    let clients = clients();
    let parts = json!([
        {"type": "step-start"},
        {"type": "reasoning", "text": "Let me see.", "state": "done"},
        text("Searching."),
        call("output-available", json!({"output": {"hits": 3}})),
        text("Found it."),
    ]);
    clients.answered(parts.clone()).await;
    assert_eq!(clients.messages().await, json!([user("m1", "Hello"), assistant("m2", parts)]));
}

#[tokio::test]
async fn content_is_read_as_a_part_and_shown_if_it_is_asked_for() {
    let clients = clients();
    let only_content = json!({"id": "m1", "role": "user", "content": "Hello"});
    assert_eq!(clients.start(only_content).await.status, 202);
    let both = json!({"id": "m2", "role": "assistant", "content": "ignored", "parts": [
        text("a"), call("output-available", json!({"output": 1})), text("b")
    ]});
    assert_eq!(clients.finish("m1", json!([both])).await.status, 200);
    let plain = clients.messages().await;
    assert_eq!(plain[0], user("m1", "Hello"));
    assert!(plain[1].get("content").is_none());
    for query in ["content=1", "content=true"] {
        let shown = clients.chat.get(&format!("/chat?{query}")).await.body()["messages"].clone();
        assert_eq!((&shown[0]["content"], &shown[1]["content"]), (&json!("Hello"), &json!("ab")));
        assert_eq!(shown[1]["parts"], plain[1]["parts"]);
    }
    assert!(
        clients.chat.get("/chat?content=0").await.body()["messages"][0].get("content").is_none()
    );
}

#[tokio::test]
async fn no_stream_is_running() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    for accepted in ["text/event-stream", "application/json, text/event-stream"] {
        let streamed = clients.chat.get_as(accepted, "/chat").await;
        assert_eq!((streamed.status, &*streamed.text), (204, ""));
    }
    assert_eq!(clients.chat.get_as("application/json", "/chat").await.status, 200);
}

#[tokio::test]
async fn a_message_is_updated_in_place() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    let empty = json!({"id": "m2", "role": "assistant", "content": "", "parts": []});
    clients.finish("m1", json!([empty])).await;
    clients.update("m2", json!({"content": "Updated"})).await;
    assert_eq!(clients.messages().await[1], assistant("m2", json!([text("Updated")])));
    clients.update("m2", json!({"metadata": {"a": 1}, "id": "m2", "role": "assistant"})).await;
    let shown = clients.messages().await[1].clone();
    assert_eq!(
        (&shown["metadata"], &shown["parts"]),
        (&json!({"a": 1}), &json!([text("Updated")]))
    );
    clients.update("m2", json!({"metadata": {}})).await;
    assert_eq!(clients.messages().await[1].get("metadata"), None);
    clients.update("m1", json!({"parts": [text("Hello again")]})).await;
    assert_eq!(clients.messages().await[0], user("m1", "Hello again"));
    assert_eq!(clients.stored().await, 2);
}

#[tokio::test]
async fn an_unknown_message_is_not_updated() {
    let clients = clients();
    clients.answered(json!([text("Hi")])).await;
    let before = clients.messages().await;
    for id in ["m9", "not%20an%0aid"] {
        clients.update(id, json!({"content": "x"})).await;
    }
    clients.api.delete(&format!("{NATIVE}/messages/1")).await;
    clients.update("m2", json!({"content": "x"})).await;
    assert_eq!(clients.messages().await, json!([before[0]]));
}

#[tokio::test]
async fn text_is_appended_and_calls_are_added_and_end() {
    let clients = clients();
    clients.answered(json!([])).await;
    let waiting = call("input-available", json!({}));
    let done = call("output-available", json!({"output": "3 hits"}));
    for parts in [
        json!([text("Sear")]),
        json!([text("Searching.")]),
        json!([text("Searching."), waiting]),
        json!([text("Searching."), done]),
        // Text after a call is a part of its own.
        json!([text("Searching."), done, text("Found ")]),
        json!([text("Searching."), done, text("Found it.")]),
    ] {
        for _ in 0..2 {
            clients.update("m2", json!({"parts": parts})).await;
            assert_eq!(clients.messages().await[1], assistant("m2", parts.clone()));
        }
    }
    // The call with its text, its result, and the text after it.
    assert_eq!(clients.stored().await, 4);
    clients.update("m2", json!({"parts": [text("Nothing.")]})).await;
    let expected = json!([user("m1", "Hello"), assistant("m2", json!([text("Nothing.")]))]);
    assert_eq!(clients.messages().await, expected);
    let history = clients.api.get(&format!("{NATIVE}/history?dialect=openai")).await.body();
    assert_eq!(history["messages"].as_array().unwrap().len(), 2, "{history}");
}

#[tokio::test]
async fn a_call_that_failed_at_once_is_stored() {
    let clients = clients();
    clients.answered(json!([])).await;
    let failed = call("output-error", json!({"errorText": "no network"}));
    clients.update("m2", json!({"parts": [failed]})).await;
    assert_eq!(clients.messages().await[1], assistant("m2", json!([failed])));
}

#[tokio::test]
async fn a_message_that_others_follow_takes_results_and_no_text_after_a_call() {
    let clients = clients();
    clients.answered(json!([text("Searching."), call("input-available", json!({}))])).await;
    clients.start(user("m3", "And?")).await;
    let done = json!([text("Searching!"), call("output-available", json!({"output": 1}))]);
    clients.update("m2", json!({"parts": done})).await;
    assert_eq!(clients.messages().await[1], assistant("m2", done.clone()));
    assert_eq!(clients.messages().await[2], user("m3", "And?"));
    let mut longer = done.as_array().unwrap().clone();
    longer.push(text("Found it."));
    let refused = clients.chat.patch(&format!("{MESSAGES}/m2"), json!({"parts": longer})).await;
    assert_eq!(refused.status, 409, "{}", refused.text);
    assert_eq!(clients.messages().await[1], assistant("m2", done));
}

#[tokio::test]
async fn an_update_that_cannot_be_read_changes_nothing() {
    let clients = clients();
    clients.answered(json!([text("Hi")])).await;
    for (changes, word) in [
        (json!({"parts": [{"type": "riddle"}]}), "parts"),
        (json!({"parts": 1}), "parts"),
        (json!({"id": "m3"}), "id"),
        (json!({"role": "user"}), "role"),
    ] {
        let refused = clients.chat.patch(&format!("{MESSAGES}/m2"), changes).await;
        assert_eq!(refused.status, 400, "{}", refused.text);
        assert!(refused.text_of("error").contains(word), "{}", refused.text);
    }
    assert_eq!(clients.chat.patch(&format!("{MESSAGES}/m2"), json!([])).await.status, 400);
    assert_eq!(clients.messages().await[1], assistant("m2", json!([text("Hi")])));
}

#[tokio::test]
async fn what_other_systems_wrote_is_shown() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    let messages = json!({"messages": [
        {"role": "assistant", "name": "Weather", "content": "Looking.", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "search", "arguments": "{\"q\":\"x\"}"}}
        ]},
        {"role": "tool", "tool_call_id": "c1", "content": "rain"},
    ]});
    assert_eq!(clients.api.post(&format!("{NATIVE}/messages"), messages).await.status, 201);
    let shown = clients.messages().await[1].clone();
    assert_eq!(
        shown["parts"],
        json!([text("Looking."), call("output-available", json!({"output": "rain"}))])
    );
    assert_eq!(shown["metadata"]["name"], "Weather");
    clients.update(shown["id"].as_str().unwrap(), json!({"content": "Looked."})).await;
    assert_eq!(clients.messages().await[1]["parts"][0], text("Looked."));
}

#[tokio::test]
async fn a_long_session_is_returned_in_one_answer() {
    let clients = clients();
    clients.start(user("m1", "Hello")).await;
    let large = "x".repeat(1_000_000);
    for at in 0..7 {
        let message = json!({"event_id": format!("e{at}"), "role": "assistant", "content": large});
        assert_eq!(clients.api.post(&format!("{NATIVE}/messages"), message).await.status, 201);
    }
    let messages = clients.messages().await;
    assert_eq!(messages.as_array().unwrap().len(), 8);
    assert_eq!(
        (&messages[7]["id"], &messages[7]["parts"][0]["text"]),
        (&json!("e6"), &json!(large))
    );
}

#[tokio::test]
async fn calls_that_another_system_has_left_open_are_shown() {
    let clients = clients();
    assert_eq!(clients.start(user("m1", "Hello")).await.status, 202);
    let call = |id: &str| json!({"id": id, "type": "function", "function": {"name": "f", "arguments": "{}"}});
    let messages = json!({"messages": [
        {"role": "assistant", "content": "Let me see.", "tool_calls": [call("t1"), call("t2")]},
        {"role": "tool", "tool_call_id": "t1", "content": "42"},
    ]});
    let stored = clients.api.post(&format!("{NATIVE}/messages"), messages).await;
    assert_eq!(stored.status, 201, "{}", stored.text);
    let shown = clients.messages().await;
    let parts = shown[1]["parts"].as_array().unwrap();
    let states: Vec<_> = parts.iter().filter_map(|part| part["state"].as_str()).collect();
    assert!(states.contains(&"output-available"), "{shown}");
    assert!(states.contains(&"input-available"), "{shown}");
}
