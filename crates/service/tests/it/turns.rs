//! Turns over HTTP: stored once, and resumed from their unfinished steps.

use insta::assert_json_snapshot;
use serde_json::{Value, json};

use crate::harness::{Answer, Client};

async fn write(client: &Client, chat: &str, turn: &Value) -> Answer {
    client.post(&format!("{chat}/turns"), turn.clone()).await
}

/// A turn of an analyzer that delegates to a visualizer, whose model call is interrupted.
fn nested() -> Value {
    let step = |kind: &str, status: &str, assistant: &str| {
        let (stack_id, parent, depth) = match assistant {
            "analyzer" => ("stk_001", Value::Null, 0),
            _ => ("stk_002", json!("stk_001"), 1),
        };
        json!({
            "type": kind, "status": status, "assistant_id": assistant, "stack_id": stack_id,
            "stack_parent_id": parent, "stack_depth": depth,
            "input": {"messages": [{"role": "user", "content": format!("{assistant} {kind}")}]},
        })
    };
    let mut steps = vec![
        step("input", "completed", "analyzer"),
        step("llm", "completed", "analyzer"),
        step("delegate", "running", "analyzer"),
        step("input", "completed", "visualizer"),
        step("llm", "interrupted", "visualizer"),
    ];
    for step in &mut steps[2..] {
        step["space_snapshot"] = json!({"choose_prompt": "query"});
    }
    json!({
        "request_id": "req_abc", "outcome": "interrupted", "connector": "deepseek.v3", "mode": "task",
        "messages": [
            {"role": "user", "name": "user", "content": "analyze this data and visualize it"},
            {"role": "assistant", "name": "analyzer", "content": "It grows.", "block_id": "B1"},
        ],
        "steps": steps,
    })
}

#[tokio::test]
async fn a_nested_turn_is_resumed_at_its_interrupted_step() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let written = write(&client, &chat, &nested()).await;
    assert_eq!(written.status, 201, "{}", written.text);
    assert_json_snapshot!("written", written.snapshot());
    let again = write(&client, &chat, &nested()).await;
    assert_eq!((again.status, &again.body()["duplicate"]), (200, &json!(true)));
    assert_json_snapshot!("points", client.get(&format!("{chat}/resume-points")).await.snapshot());
    assert_json_snapshot!("stack", client.get(&format!("{chat}/stacks/stk_002")).await.snapshot());
    let of_stack = client.get(&format!("{chat}/resume-points?stack_id=stk_001")).await.body();
    assert_eq!(of_stack["data"][0]["type"], "delegate");
    let first = client.get(&format!("{chat}/resume-points?limit=1")).await.body();
    let cursor = first["next_cursor"].as_str().unwrap();
    let rest = client.get(&format!("{chat}/resume-points?limit=1&cursor={cursor}")).await.body();
    assert_eq!((&rest["data"], &rest["next_cursor"]), (&of_stack["data"], &Value::Null));

    client.put(&format!("{chat}/context"), json!({"data": "sales.csv"})).await;
    client.put(&format!("{chat}/artifact"), json!({"payload": {"rows": 3}})).await;
    let resume = client.get(&format!("{chat}/resume")).await;
    assert_eq!(resume.body()["chat"], client.get(&chat).await.body());
    assert_json_snapshot!("resume", resume.snapshot(), { ".body.chat" => "[chat]" });

    // The visualizer continues and completes.
    let done = json!({
        "request_id": "req_def", "outcome": "completed",
        "messages": [{"role": "assistant", "name": "visualizer", "content": "Here is a chart."}],
    });
    assert_eq!(write(&client, &chat, &done).await.status, 201);
    let resume = client.get(&format!("{chat}/resume")).await.body();
    assert_eq!((&resume["action"], &resume["step"]), (&json!("nothing_to_do"), &Value::Null));
    assert_eq!(resume["space"], json!({}));
    let deleted = client.delete(&format!("{chat}/resume-points?request_id=req_abc")).await;
    assert_eq!((deleted.status, &*deleted.text), (204, ""));
    assert_eq!(client.get(&format!("{chat}/stacks/stk_002")).await.problem().0, 404);
}

#[tokio::test]
async fn deltas_are_merged_and_events_dropped() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let delta = |content: &str| json!({"message_id": "m", "delta": true, "content": content});
    let turn = json!({
        "request_id": "r", "outcome": "completed",
        "messages": [
            {"role": "assistant", "event_type": "event", "content": "stream_start"},
            {"message_id": "m", "role": "assistant", "name": "a", "content": "It ", "chunk_id": "C1"},
            {"role": "assistant", "name": "b", "content": "meanwhile", "thread_id": "T2"},
            delta("is "), delta("sunny."),
            {"message_id": "m", "delta": true, "delta_path": "metadata.mood", "content": "good"},
            {"message_id": "n", "role": "assistant", "content": [{"type": "text", "text": "x"}]},
            {"message_id": "n", "delta": true, "delta_path": "content.0.text", "content": "y",
             "delta_action": "replace"},
        ],
    });
    assert_json_snapshot!("merged", write(&client, &chat, &turn).await.snapshot());
    let stored = client.get(&format!("{chat}/messages")).await.body();
    assert_json_snapshot!("stored", stored["data"]);
}

#[tokio::test]
async fn an_invalid_turn_is_refused_with_a_pointer() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let good = || json!({"role": "user", "content": "x"});
    let m =
        |message: Value| json!([good(), {"message_id": "m", "role": "a", "content": "t"}, message]);
    for (field, value, pointer) in [
        ("messages", json!([good(), {"content": "x"}]), "/messages/1/role"),
        ("messages", json!([good(), {"role": "user"}]), "/messages/1/content"),
        (
            "messages",
            json!([good(), {"role": "user", "content": "x", "event_id": "e"}]),
            "/messages/1/event_id",
        ),
        (
            "messages",
            json!([good(), {"role": "user", "content": "x", "status": 1}]),
            "/messages/1/status",
        ),
        ("messages", json!([good(), {"role": "", "content": "x"}]), "/messages/1/role"),
        ("messages", json!([]), "/messages"),
        ("messages", m(json!({"delta": true, "content": "x"})), "/messages/2/message_id"),
        (
            "messages",
            m(json!({"delta": true, "message_id": "k", "content": "x"})),
            "/messages/2/message_id",
        ),
        (
            "messages",
            m(json!({"delta": true, "message_id": "m", "content": 1})),
            "/messages/2/content",
        ),
        (
            "messages",
            m(json!({"delta": true, "message_id": "m", "content": "x", "delta_path": "role"})),
            "/messages/2/delta_path",
        ),
        (
            "messages",
            m(json!({"delta": true, "message_id": "m", "content": "x", "timestamp": "y"})),
            "/messages/2/timestamp",
        ),
        (
            "messages",
            m(json!({"delta": true, "message_id": "m", "content": "x", "a/b~": 1})),
            "/messages/2/a~1b~0",
        ),
        ("outcome", json!("done"), "/outcome"),
        ("request_id", json!(""), "/request_id"),
        ("steps", json!([{"type": "think", "status": "failed", "stack_id": "s"}]), "/steps/0/type"),
        (
            "steps",
            json!([{"type": "llm", "status": "failed", "stack_id": "s", "stack_depth": 1}]),
            "/steps/0/stack_depth",
        ),
    ] {
        let mut turn = json!({"request_id": "r", "outcome": "failed", "messages": [good()]});
        turn[field] = value;
        let refused = write(&client, &chat, &turn).await;
        assert_eq!((refused.status, refused.culprit()), (422, pointer.to_owned()), "{turn}");
    }
    let chat = client.get(&chat).await.body();
    assert_eq!((&chat["last_sequence"], &chat["last_turn"]), (&json!(0), &Value::Null));
}

#[tokio::test]
async fn unknown_fields_of_a_turns_messages_are_kept_and_noted() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let odd = json!({"role": "user", "content": "x", "colour": 1});
    let said = json!({"role": "user", "content": "x"});
    let turn = json!({"request_id": "r", "outcome": "completed", "messages": [said, odd]});
    let written = write(&client, &chat, &turn).await.body();
    assert_eq!(
        (&written["noted"][0]["index"], &written["noted"][0]["rule"]),
        (&json!(1), &json!("unknown_field"))
    );
    let stored = client.get(&format!("{chat}/messages/1")).await.body();
    assert_eq!(stored["provider"], json!({"openai": {"colour": 1}}));
}

#[tokio::test]
async fn another_turn_with_the_same_request_id_is_a_conflict() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    write(&client, &chat, &nested()).await;
    let mut other = nested();
    other["mode"] = json!("chat");
    assert_eq!(write(&client, &chat, &other).await.problem(), (409, "turn-conflict".to_owned()));
    let mut silent = nested();
    (silent["messages"], silent["request_id"]) = (json!([]), json!("silent"));
    assert_eq!(write(&client, &chat, &silent).await.status, 201);
    silent["mode"] = json!("chat");
    assert_eq!(write(&client, &chat, &silent).await.problem(), (409, "turn-conflict".to_owned()));
}

#[tokio::test]
async fn a_broken_call_stack_is_an_error_and_no_loop() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let step = |stack: &str, parent: &str| {
        json!({"type": "llm", "status": "failed", "stack_id": stack, "stack_parent_id": parent,
               "stack_depth": 5})
    };
    let turn = |name: &str, steps: Value| {
        json!({"request_id": name, "outcome": "failed", "steps": steps,
               "messages": [{"role": "user", "content": "x"}]})
    };
    let cycle = turn("r1", json!([step("a", "b"), step("b", "c"), step("c", "a")]));
    let refused = write(&client, &chat, &cycle).await;
    assert_eq!((refused.status, refused.culprit()), (422, "/steps/0/stack_parent_id".to_owned()));
    // A cycle across turns cannot be detected when they are stored.
    for (name, stack, parent) in [("r2", "a", "b"), ("r3", "b", "a")] {
        assert_eq!(
            write(&client, &chat, &turn(name, json!([step(stack, parent)]))).await.status,
            201
        );
    }
    let broken = client.get(&format!("{chat}/stacks/b")).await;
    assert_eq!(broken.problem(), (409, "broken-call-stack".to_owned()), "{}", broken.text);
    write(&client, &chat, &turn("r4", json!([step("d", "gone")]))).await;
    let resume = client.get(&format!("{chat}/resume")).await.body();
    assert_eq!((&resume["action"], &resume["step"]["stack_path"]), (&json!("retry"), &Value::Null));
    assert_json_snapshot!("missing_parent", resume["step"]["stack_error"]);
    assert_eq!(client.get(&format!("{chat}/stacks/x")).await.problem().1, "stack-not-found");
}

#[tokio::test]
async fn the_call_stack_includes_completed_parents() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let step = |status: &str, stack: &str, parent: Value, depth: u32| {
        json!({"type": "tool", "status": status, "stack_id": stack, "stack_parent_id": parent,
               "stack_depth": depth})
    };
    let turn = json!({
        "request_id": "r1", "outcome": "interrupted",
        "messages": [{"role": "user", "content": "x"}],
        "steps": [
            step("completed", "a", Value::Null, 0), step("failed", "b", json!("a"), 1),
            step("running", "c", json!("a"), 1),
        ],
    });
    assert_eq!(write(&client, &chat, &turn).await.status, 201);
    let resume = client.get(&format!("{chat}/resume")).await.body();
    assert_eq!(resume["step"]["stack_path"], json!(["a", "c"]));
    let open = resume["open_steps"].as_array().unwrap();
    let open: Vec<_> = open.iter().map(|step| (&step["stack_id"], &step["status"])).collect();
    assert_eq!(open, [(&json!("b"), &json!("failed")), (&json!("c"), &json!("interrupted"))]);
    let stack = client.get(&format!("{chat}/stacks/b")).await.body();
    assert_eq!(stack["stack_path"], json!(["a", "b"]));
}

#[tokio::test]
async fn errors_point_to_the_sent_message_and_deep_paths_are_refused() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let turn = |last: Value| {
        json!({
            "request_id": "r", "outcome": "completed", "messages": [
                {"message_id": "e", "role": "a", "event_type": "event", "content": "x"},
                {"message_id": "e", "delta": true, "content": "y"},
                {"message_id": "m", "role": "a", "content": "x"},
                {"message_id": "m", "delta": true, "content": "y"}, last,
            ],
        })
    };
    let faulty = turn(json!({"role": "a", "content": "x", "timestamp": "t".repeat(65)}));
    let refused = write(&client, &chat, &faulty).await;
    assert_eq!((refused.status, refused.culprit()), (422, "/messages/4/timestamp".to_owned()));
    let path = format!("metadata.n{}", ".0".repeat(50_000));
    let deep = turn(json!({"message_id": "m", "delta": true, "delta_action": "replace",
                           "delta_path": path, "content": 1}));
    let refused = write(&client, &chat, &deep).await;
    assert_eq!((refused.status, refused.culprit()), (422, "/messages/4/delta_path".to_owned()));
    let good = write(&client, &chat, &turn(json!({"role": "a", "content": "x"}))).await;
    let dropped: Vec<_> = good.body()["dropped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|dropped| dropped["index"].clone())
        .collect();
    assert_eq!((good.status, dropped), (201, vec![json!(0), json!(1)]));
}

#[tokio::test]
async fn a_resume_names_the_next_action() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let resume = async |query: &str| client.get(&format!("{chat}/resume{query}")).await.body();
    assert_eq!(resume("").await["action"], "start");
    let say = async |message: Value| client.post(&format!("{chat}/messages"), message).await;
    say(json!({"role": "user", "name": "ada", "content": "Which database?"})).await;
    assert_eq!(resume("").await["action"], "start");
    let call = json!({"id": "call_1", "type": "function",
                      "function": {"name": "search", "arguments": "{\"q\":\"db\"}"}});
    say(json!({"role": "assistant", "name": "scout", "content": null, "tool_calls": [call]})).await;
    let pending = resume("?dialect=openai&unsettled=settle").await;
    assert_eq!(pending["chat"], client.get(&chat).await.body());
    assert_json_snapshot!("pending_call", pending, { ".chat" => "[chat]" });
    let rejected = client.get(&format!("{chat}/resume?dialect=openai&unsettled=reject")).await;
    assert_eq!(rejected.problem(), (409, "unsettled-tool-calls".to_owned()));
    say(json!({"role": "tool", "tool_call_id": "call_1", "content": "MongoDB"})).await;
    let answered = resume("").await;
    assert_eq!(
        (&answered["action"], &answered["next_speaker"]),
        (&json!("continue"), &json!("scout"))
    );
    assert_eq!(answered["pending_calls"], json!([]));
    say(json!({"role": "assistant", "name": "scout", "content": "MongoDB. TERMINATE"})).await;
    assert_eq!(resume("").await["termination"], json!({"sequence": 3, "text": "TERMINATE"}));
    assert_eq!(resume("?termination=DONE").await["termination"], Value::Null);
    let question = json!({"prompt": "Sure?", "request_id": "q1"});
    client.post(&format!("{chat}/input-requests"), question).await;
    let waiting = resume("?newest=1").await;
    assert_eq!(
        (&waiting["action"], &waiting["next_speaker"]),
        (&json!("await_input"), &json!("ada"))
    );
    assert_eq!(waiting["pending_inputs"][0]["request_id"], "q1");
    assert_eq!(waiting["transcript"]["messages"].as_array().unwrap().len(), 1);
    client.post(&format!("{chat}/complete"), json!({})).await;
    assert_eq!(resume("").await["action"], "nothing_to_do");
}
