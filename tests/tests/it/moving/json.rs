//! Sessions of the layout before JSON Lines.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use chrono::{DateTime, Utc};
use persistence::ChatSessions as _;
use records::{ChatId, Lifecycle, UserId};
use serde_json::{Value, json};
use tests::client::APP;

use super::{Place, compressed, text};

fn import(path: &Path) -> Result<[&str; 5]> {
    Ok(["import", "json", text(path)?, "--app", APP])
}

fn message(number: usize) -> Value {
    let (sender, agent) =
        if number.is_multiple_of(2) { ("user", None) } else { ("bot", Some("analytical")) };
    json!({
        "id": number, "content": format!("message {number}"), "sender": sender, "agent": agent, "synced": true,
        "timestamp": format!("2025-06-20T10:00:{number:02}.000Z"),
    })
}

/// A session as the original system has described it.
fn session(messages: usize) -> Value {
    let tools = json!([{
        "toolName": "DataAnalyzer", "timestamp": "2025-06-20T10:00:01.000Z", "parameters": { "rows": 2 },
        "result": { "mean": 1.5 }, "success": true, "executionTime": 1250, "agentName": "analytical",
    }]);
    json!({
        "sessionId": "abc123", "title": "Chat about data", "messages": (0..messages).map(message).collect::<Vec<_>>(),
        "metadata": {
            "createdAt": "2025-06-20T09:59:00.000Z", "updatedAt": "2025-06-20T11:00:00.000Z", "messageCount": messages,
            "userId": "user123", "agentHistory": ["analytical"], "toolsUsed": tools,
            "userPreferences": { "agentLock": false },
        },
    })
}

/// A session as the original system has written it.
fn state() -> Value {
    json!({
        "data": {
            "sessionId": "default", "data": {}, "agentHistory": [], "toolsUsed": [],
            "metadata": { "createdAt": "2025-06-25T03:33:11.946Z", "accessCount": 7, "userId": "default" },
        },
        "createdAt": "2025-06-25T03:40:19.882Z",
    })
}

fn shared() -> Value {
    json!({ "data": { "key": "k", "data": {}, "scope": "global", "permissions": {} }, "createdAt": "x", "ttl": 1 })
}

#[tokio::test]
async fn sessions_become_chats_with_everything_that_they_hold() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let path = |name: &str| directory.path().join(name);
    fs::write(path("session_abc123_1f2e3d.json"), session(4).to_string())?;
    // A program wrote the mark of UTF-8 before it.
    fs::write(path("session_default_542072a3.json"), format!("\u{feff}{}", state()))?;
    fs::write(path("shared_k_1.json"), shared().to_string())?;
    fs::write(path("index.json"), "{}")?;
    fs::write(path("notes.txt"), "no session")?;
    let import = import(directory.path())?;
    let (dry, ..) = place.run(&[&import[..], &["--dry-run"]].concat()).await?;
    assert_eq!(place.store.get_chat(&place.scope, &ChatId::parse("abc123")?).await?, None);
    let expected = json!({
        "chats": 2, "created": 2, "stored": 4, "known": 0,
        "messages_left_out": 0, "tool_runs_stored": 1, "tool_runs_known": 0, "calls_stored": 0,
        "calls_known": 0, "warnings": 1, "errors": 0,
    });
    let (numbers, said, code) = place.run(&import).await?;
    assert_eq!((&numbers, &dry, code), (&expected, &expected, Some(0)), "{said}");
    assert!(said.contains("warning: shared_k_1.json: holds what agents share"), "{said}");

    let chat_id = ChatId::parse("abc123")?;
    let chat = place.store.get_chat(&place.scope, &chat_id).await?.context("no chat")?;
    let time = |text: &str| text.parse::<DateTime<Utc>>();
    assert_eq!(chat.title.as_deref(), Some("Chat about data"));
    assert_eq!(chat.user_id, Some(UserId::parse("user123")?));
    assert_eq!(chat.created_at, time("2025-06-20T09:59:00Z")?);
    assert_eq!(chat.last_active_at(), time("2025-06-20T11:00:00Z")?);
    let kept = json!({ "agentHistory": ["analytical"], "userPreferences": { "agentLock": false } });
    assert_eq!(Value::Object(chat.metadata), kept);
    let messages = place.messages(&chat_id).await?;
    let said: Vec<_> =
        messages.iter().map(|it| (it.body.role.as_str(), it.body.name.as_deref())).collect();
    let (user, agent) = (("user", None), ("assistant", Some("analytical")));
    assert_eq!(said, [user, agent, user, agent]);
    assert_eq!(messages[3].body.content, "message 3");
    assert_eq!(messages[3].body.timestamp.as_deref(), Some("2025-06-20T10:00:03.000Z"));
    let runs = place.tool_runs(&chat_id).await?;
    assert_eq!(
        (runs[0].tool_name.as_str(), runs[0].agent.as_deref()),
        ("DataAnalyzer", Some("analytical"))
    );
    assert_eq!((&runs[0].result, runs[0].execution_time_ms), (&json!({ "mean": 1.5 }), Some(1250)));

    let empty = place.store.get_chat(&place.scope, &ChatId::parse("default")?).await?;
    let empty = empty.context("a session without messages is a chat, too")?;
    assert_eq!((empty.last_sequence, empty.metadata["accessCount"].as_u64()), (0, Some(7)));
    assert_eq!(empty.lifecycle, Lifecycle::Active);
    Ok(())
}

#[tokio::test]
async fn a_session_that_has_grown_adds_its_new_messages_and_one_that_was_rewritten_is_refused()
-> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let path = directory.path().join("chat.json.gz");
    let write = |session: &Value| fs::write(&path, compressed(session.to_string().as_bytes())?);
    write(&session(3))?;
    place.succeed(&import(&path)?).await?;
    write(&session(5))?;
    let grown = place.succeed(&import(&path)?).await?;
    assert_eq!(
        (&grown["stored"], &grown["known"], &grown["tool_runs_known"]),
        (&json!(2), &json!(3), &json!(1))
    );
    let again = place.succeed(&import(&path)?).await?;
    assert_eq!((&again["stored"], &again["known"]), (&json!(0), &json!(5)));
    let mut rewritten = session(5);
    rewritten["messages"][4]["content"] = "something else".into();
    write(&rewritten)?;
    let (numbers, said, code) = place.run(&import(&path)?).await?;
    assert_eq!((&numbers["stored"], code), (&json!(0), Some(1)));
    assert!(
        said.contains("error: chat.json.gz: messages[4] is not the one that was imported before"),
        "{said}"
    );
    assert_eq!(place.messages(&ChatId::parse("abc123")?).await?.len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_fault_is_reported_with_its_place_and_the_rest_is_imported() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let write = |name: &str, text: &str| fs::write(directory.path().join(name), text);
    write(
        "a.json",
        r#"[{"type":"user","content":"hi"},5,{"content":"from nobody"},{"role":"user","content":"ho"}]"#,
    )?;
    write("broken.json", "{\"sessionId\":\"x\",")?;
    write("climbs.json", r#"{"sessionId":"../etc","messages":[]}"#)?;
    write("other.json", "{}")?;
    let tools =
        json!([{ "toolName": "f" }, { "toolName": "f", "timestamp": "2025-06-20T10:00:00Z" }]);
    write("tools.json", &json!({ "sessionId": "tools", "toolsUsed": tools }).to_string())?;
    let whole = compressed(session(4).to_string().as_bytes())?;
    fs::write(directory.path().join("z.json.gz"), &whole[..whole.len() / 2])?;
    let (numbers, said, code) = place.run(&import(directory.path())?).await?;
    for expected in [
        "error: a.json: messages[1]: is not a JSON object",
        "error: a.json: messages[2]: `type` must be a text",
        "error: broken.json: cannot be read",
        "error: climbs.json: has an id that cannot be the id of a chat",
        "error: other.json: is no session",
        "error: tools.json: toolsUsed[0]: `timestamp` must be a time",
        "error: z.json.gz: cannot be read",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    let expected = json!({
        "chats": 2, "created": 2, "stored": 2, "known": 0,
        "messages_left_out": 0, "tool_runs_stored": 1, "tool_runs_known": 0, "calls_stored": 0,
        "calls_known": 0, "warnings": 0, "errors": 7,
    });
    assert_eq!((&numbers, code), (&expected, Some(1)), "{said}");
    Ok(())
}
