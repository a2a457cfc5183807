//! An orchestrator stores a workflow as it happens, loses its service, and continues.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tests::client::{APP, Chat, refusal};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;

const TASK: &str = "Create a todo app";

#[tokio::test]
async fn a_workflow_goes_on_where_its_service_was_killed() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);

    let service = Service::start(&settings).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    first_half(&chat).await?;
    service.kill().await?;

    let service = Service::start(&settings).await?;
    let chat = service.client()?.chat(chat.id());
    finds_everything(&chat).await?;
    second_half(&chat).await?;
    ends_and_reopens(&chat).await?;
    service.stop().await
}

async fn first_half(chat: &Chat) -> Result<()> {
    let task = json!({ "messages": [{ "role": "user", "name": "user", "content": TASK }] });
    chat.post("initial-messages", &task).await?;
    // An orchestrator that restarts before the first reply stores its task again.
    let again = chat.post("initial-messages", &task).await?;
    assert_eq!(again["messages"][0]["duplicate"], true);

    let append = chat.append(&[said(1, "interviewer", "What features?")]).await?;
    assert_eq!(append.last_sequence, 2);
    chat.put("context", &context()).await?;
    chat.put("artifact", &artifact()).await?;
    let paused = chat.post("pause", &json!({ "reason": "waits for the user" })).await?;
    assert_eq!(paused["status"], "paused");
    Ok(())
}

async fn finds_everything(chat: &Chat) -> Result<()> {
    let meta = chat.get("meta").await?;
    assert_eq!(meta["app_id"], APP);
    assert_eq!(meta["workflow_name"], "Generator");
    assert_eq!((&meta["status"], &meta["status_name"]), (&json!(2), &json!("paused")));
    assert_eq!(meta["status_reason"], "waits for the user");
    assert_eq!(meta["last_sequence"], 2);
    assert_eq!(without_time(&meta["last_artifact"]), artifact());

    let history = chat.history("ag2").await?;
    let expected = json!([
        { "role": "user", "name": "user", "content": TASK },
        { "role": "assistant", "name": "interviewer", "content": "What features?" },
    ]);
    assert_eq!(Value::from(history.messages), expected);
    assert_eq!(history.dropped, []);

    let snapshot = chat.get("context").await?;
    assert_eq!((&snapshot["sequence"], &snapshot["context_snapshot"]), (&json!(2), &context()));
    assert_eq!(without_time(&chat.get("artifact").await?["last_artifact"]), artifact());
    Ok(())
}

async fn second_half(chat: &Chat) -> Result<()> {
    assert_eq!(chat.turn("reopen").await?["status"], "running");
    // Repeats the message before the crash, because its acknowledgement might have been lost.
    let messages = [said(1, "interviewer", "What features?"), said(2, "planner", "Here is a plan")];
    let append = chat.append(&messages).await?;
    let outcomes: Vec<_> = append.messages.iter().map(|it| (it.sequence, it.duplicate)).collect();
    assert_eq!(outcomes, [(1, true), (2, false)]);
    assert_eq!(append.last_sequence, 3);
    Ok(())
}

async fn ends_and_reopens(chat: &Chat) -> Result<()> {
    let completed = chat.turn("complete").await?;
    assert_eq!(completed["status"], "completed");
    assert!(completed["duration_sec"].as_f64().context("no duration")? > 0.0);
    assert_eq!(chat.turn("complete").await?, completed, "completing twice moved something");
    let refused = refusal(chat.append(&[said(3, "planner", "One more thing")]).await)?;
    assert_eq!(refused.kind, "chat-ended");
    assert_eq!(refusal(chat.turn("pause").await)?.kind, "illegal-transition");

    let reopened = chat.turn("reopen").await?;
    assert_eq!(reopened["status"], "running");
    assert_eq!((&reopened["completed_at"], &reopened["duration_sec"]), (&Value::Null, &json!(0.0)));
    let append = chat.append(&[said(3, "planner", "One more thing")]).await?;
    assert_eq!(append.last_sequence, 4);
    Ok(())
}

fn said(number: usize, name: &str, content: &str) -> Value {
    let event_id = format!("evt_{number}");
    json!({ "event_id": event_id, "role": "assistant", "name": name, "content": content })
}

/// With keys that are special to MongoDB, and ordinary here.
fn context() -> Value {
    json!({ "interview_complete": true, "user.requirements": { "$set": ["tags", ""] }, "": 1 })
}

fn artifact() -> Value {
    json!({
        "ui_tool_id": "code_editor",
        "event_id": "evt_xyz789",
        "display": "artifact",
        "workflow_name": "Generator",
        "payload": { "language": "python", "code": "def hello():\n    print('Hello')" },
    })
}

fn without_time(artifact: &Value) -> Value {
    let mut artifact = artifact.clone();
    artifact.as_object_mut().and_then(|fields| fields.shift_remove("updated_at"));
    artifact
}
