//! Sessions in JSON Lines.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use anyhow::{Context as _, Result};
use chrono::{DateTime, TimeDelta, Utc};
use persistence::{ChatSessions as _, MessageSearch, Messages as _, Search as _, ToolRuns as _};
use records::{
    Author, ChatId, ChatSession, Clock as _, Lifecycle, MessageBody, MessageEdit, NewChatSession,
    NewMessage, NewToolRun, SearchQuery, SessionChange, SystemClock, ToolRunId, UserId,
    WorkflowName,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tests::client::APP;
use tests::waiting::until;

use super::{Place, compressed, text};

const TIME: &str = "2025-06-26T10:00:00.000Z";

fn import(directory: &TempDir) -> Result<[&str; 5]> {
    Ok(["import", "jsonl", text(directory.path())?, "--app", APP])
}

fn export(directory: &TempDir) -> Result<[&str; 5]> {
    Ok(["export", "jsonl", text(directory.path())?, "--app", APP])
}

fn line(kind: &str, content: &str, metadata: &Value) -> String {
    let line = json!({ "timestamp": TIME, "type": kind, "content": content, "metadata": metadata });
    format!("{line}\n")
}

fn tool_line(session: &str, tool: &str, result: &Value, duration: &Value) -> String {
    let line = json!({
        "timestamp": TIME, "sessionId": session, "toolName": tool, "parameters": { "query": "rust" },
        "result": result, "success": true, "executionTime": duration, "error": null,
    });
    format!("{line}\n")
}

fn write(directory: &TempDir, name: &str, text: &str) -> Result<()> {
    Ok(fs::write(directory.path().join(name), text)?)
}

/// Reads all files of a directory.
fn files(directory: &Path) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for file in directory.read_dir()? {
        let file = file?;
        let name = file.file_name().to_string_lossy().into_owned();
        files.insert(name, fs::read_to_string(file.path())?);
    }
    Ok(files)
}

/// A directory as the original system leaves it.
fn original() -> Result<TempDir> {
    let directory = tempfile::tempdir()?;
    let session = |id: &str, status: &str, count: usize| {
        json!({
            "file": format!("session_{id}.jsonl"), "toolsFile": format!("session_{id}_tools.jsonl"),
            "status": status, "createdAt": "2025-06-26T09:59:00.000Z", "startedAt": TIME,
            "lastActivityAt": "2025-06-26T10:15:00.000Z", "messageCount": count,
            "title": format!("Chat {id}"), "metadata": { "lastAgent": "Analyst", "userId": "user123" },
        })
    };
    let index = json!({
        "session_abc123": session("abc123", "active", 4),
        "session_old": session("old", "archived", 0),
        "session_gone": session("gone", "deleted", 1),
    });
    write(&directory, "index.json", &index.to_string())?;
    let user = json!({ "userId": "user123", "sessionId": "abc123" });
    let agent =
        json!({ "agent": "Analyst", "confidence": 0.9, "toolsUsed": [], "sessionId": "abc123" });
    let lines = [
        line("system", "Be brief.", &json!({ "sessionId": "abc123" })),
        line("user", "Hello", &user),
        line("assistant", "Hi there!", &agent),
        line("user", "Hello again", &user),
    ];
    write(&directory, "session_abc123.jsonl", &lines.concat())?;
    write(&directory, "session_gone.jsonl", &line("user", "Forget me", &user))?;
    let runs = [
        tool_line("abc123", "WebSearch", &json!({ "hits": 3 }), &json!(250)),
        tool_line("abc123", "Shell", &Value::Null, &json!(1.5)),
    ];
    write(&directory, "session_abc123_tools.jsonl", &runs.concat())?;
    Ok(directory)
}

async fn chat(place: &Place, chat_id: &str) -> Result<ChatSession> {
    let chat = place.store.get_chat(&place.scope, &ChatId::parse(chat_id)?).await?;
    chat.with_context(|| format!("there is no chat {chat_id}"))
}

#[tokio::test]
async fn sessions_become_chats_with_their_times_and_their_status() -> Result<()> {
    let (place, directory) = (Place::new().await?, original()?);
    let (dry, ..) = place.run(&[&import(&directory)?[..], &["--dry-run"]].concat()).await?;
    assert_eq!(place.store.get_chat(&place.scope, &ChatId::parse("abc123")?).await?, None);
    let expected = json!({
        "chats": 3, "created": 3, "stored": 5, "known": 0,
        "messages_left_out": 0, "tool_runs_stored": 2, "tool_runs_known": 0, "calls_stored": 0,
        "calls_known": 0, "warnings": 2, "errors": 0,
    });
    // The session that is gone names another session in its metadata, and a run of a tool has taken half a millisecond more.
    let (numbers, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!((&numbers, code), (&expected, Some(0)), "{said}");
    assert!(said.contains("warning: session_gone.jsonl:1: names another session"), "{said}");
    assert!(said.contains("warning: session_abc123_tools.jsonl:2: has an executionTime"), "{said}");
    assert_eq!(dry, expected, "a dry run counts the same");
    let session = chat(&place, "abc123").await?;
    assert_eq!(session.title.as_deref(), Some("Chat abc123"));
    assert_eq!(session.user_id, Some(UserId::parse("user123")?));
    assert_eq!(session.workflow_name.as_str(), "Chat");
    assert_eq!(session.created_at, "2025-06-26T09:59:00Z".parse::<DateTime<Utc>>()?);
    assert_eq!(session.last_active_at(), "2025-06-26T10:15:00Z".parse::<DateTime<Utc>>()?);
    assert!(session.metadata.is_empty());
    let messages = place.messages(&session.chat_id).await?;
    let roles: Vec<_> = messages.iter().map(|it| it.body.role.as_str()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "user"]);
    assert_eq!(messages[2].body.name.as_deref(), Some("Analyst"));
    assert_eq!(messages[1].author.as_ref().map(|it| it.user_id.as_str()), Some("user123"));
    for (chat_id, lifecycle) in [("old", Lifecycle::Archived), ("gone", Lifecycle::Deleted)] {
        let chat = chat(&place, chat_id).await?;
        assert_eq!(chat.lifecycle, lifecycle, "{chat_id}");
        let age = SystemClock.now() - chat.lifecycle_at.context("no time")?;
        assert!(
            age < TimeDelta::minutes(5),
            "the retention of a deleted chat begins with the import"
        );
    }
    let runs = place.tool_runs(&session.chat_id).await?;
    let names: Vec<_> = runs.iter().map(|run| run.tool_name.as_str()).collect();
    assert_eq!(names, ["Shell", "WebSearch"], "of one time, by the number of their line");
    assert_eq!(runs[0].started_at, TIME.parse::<DateTime<Utc>>()?);
    let age = SystemClock.now() - runs[0].recorded_at;
    assert!(age < TimeDelta::minutes(5), "the retention of a run begins with the import");
    // What is imported is found, although it is old.
    let query = SearchQuery::parse("brief").map_err(|error| anyhow::anyhow!("{error:?}"))?;
    let search = MessageSearch::of(query);
    let found = place.store.search_messages(&place.scope, &search, 10, None).await?;
    assert_eq!(found.hits.len(), 1);
    Ok(())
}

#[tokio::test]
async fn what_is_imported_again_is_known_and_a_file_that_has_grown_adds_its_new_lines() -> Result<()>
{
    let (place, directory) = (Place::new().await?, original()?);
    place.run(&import(&directory)?).await?;
    let (again, ..) = place.run(&import(&directory)?).await?;
    assert_eq!(
        (&again["stored"], &again["known"], &again["created"]),
        (&json!(0), &json!(5), &json!(0))
    );
    let (known, stored) = (&again["tool_runs_known"], &again["tool_runs_stored"]);
    assert_eq!((known, stored), (&json!(2), &json!(0)));
    let (dry, ..) = place.run(&[&import(&directory)?[..], &["--dry-run"]].concat()).await?;
    assert_eq!(dry, again);
    let path = directory.path().join("session_abc123.jsonl");
    let mut file = OpenOptions::new().append(true).open(&path)?;
    let next = line("user", "And again", &json!({}));
    let (begun, rest) = next.split_at(20);
    write!(file, "{begun}")?;
    // The writer was interrupted within the last line.
    let (cut, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!((&cut["stored"], code), (&json!(0), Some(0)), "{said}");
    assert!(said.contains("warning: session_abc123.jsonl:5: is cut off"), "{said}");
    write!(file, "{rest}")?;
    let (grown, ..) = place.run(&import(&directory)?).await?;
    assert_eq!((&grown["stored"], &grown["known"]), (&json!(1), &json!(5)));
    let messages = place.messages(&ChatId::parse("abc123")?).await?;
    assert_eq!(messages.last().map(|it| it.body.content.clone()), Some("And again".into()));
    assert_eq!(chat(&place, "gone").await?.lifecycle, Lifecycle::Deleted);

    let path_of_tools = directory.path().join("session_abc123_tools.jsonl");
    let mut tools = OpenOptions::new().append(true).open(&path_of_tools)?;
    let next = tool_line("abc123", "Shell", &json!("new"), &Value::Null);
    let (begun, rest) = next.split_at(20);
    write!(tools, "{begun}")?;
    let (cut, said, _) = place.run(&import(&directory)?).await?;
    assert_eq!(cut["tool_runs_stored"], json!(0));
    assert!(said.contains("warning: session_abc123_tools.jsonl:3: is cut off"), "{said}");
    write!(tools, "{rest}")?;
    let (grown, ..) = place.run(&import(&directory)?).await?;
    let (known, stored) = (&grown["tool_runs_known"], &grown["tool_runs_stored"]);
    assert_eq!((known, stored), (&json!(2), &json!(1)));

    // A file that was rewritten is not mixed with what it was.
    let text = fs::read_to_string(&path)?.replace("Hello again", "Good-bye");
    fs::write(&path, text)?;
    let (_, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!(code, Some(1));
    assert!(said.contains("line 4 is not the one that was imported before"), "{said}");
    assert_eq!(place.messages(&ChatId::parse("abc123")?).await?.len(), 5);
    Ok(())
}

#[tokio::test]
async fn a_broken_directory_is_imported_as_far_as_it_goes_and_says_where_it_is_broken() -> Result<()>
{
    let place = Place::new().await?;
    let directory = tempfile::tempdir()?;
    write(&directory, "index.json", "{\"session_a\": {\"ti")?;
    let backup = json!({
        "session_a": { "title": "Kept" },
        "../b": { "file": "session_../b.jsonl" },
        "session_c": { "file": "/etc/passwd" },
    });
    write(&directory, "index.json.backup", &backup.to_string())?;
    let lines = [
        line("user", "one", &json!({})),
        "{\"type\":\"user\",\"content\"\n".to_owned(),
        "\n".to_owned(),
        "{\"type\":\"assistant\"}\n".to_owned(),
        line("user", "same", &json!({})),
        line("user", "same", &json!({})),
        "{\"content\":\"no type\"}\n".to_owned(),
    ];
    write(&directory, "session_a.jsonl", &lines.concat())?;
    write(&directory, "session_c.jsonl", &line("user", "not without its entry", &json!({})))?;
    write(&directory, "session_new.jsonl", &line("user", "hi", &json!({ "userId": "bob" })))?;
    let run = tool_line("other", "Search", &Value::Null, &json!(-1));
    let good = tool_line("other", "Search", &Value::Null, &json!(1));
    write(&directory, "session_a_tools.jsonl", &["{}\n", "\n", &run, &good].concat())?;
    write(
        &directory,
        "session_only_tools.jsonl",
        &tool_line("only", "Search", &Value::Null, &json!(1)),
    )?;
    write(&directory, "session_c_tools.jsonl", &good)?;
    write(&directory, "session_.hidden.jsonl", "{}\n")?;
    let (numbers, said, code) = place.run(&import(&directory)?).await?;
    for expected in [
        "warning: index.json: cannot be read",
        "error: session_.hidden.jsonl: chat_id must be",
        "error: index.json: session \"../b\": has an id that cannot be the id of a chat",
        "error: index.json: session \"session_c\": names the file \"/etc/passwd\"",
        "error: session_a.jsonl:2: cannot be read",
        "warning: session_a.jsonl:4: has no content",
        "warning: session_a.jsonl:6: says the same as the one before it",
        "error: session_a.jsonl:7: `type` must be a text",
        "error: session_a_tools.jsonl:1: `toolName` must be a text",
        "error: session_a_tools.jsonl:3: `executionTime` must be a number of milliseconds",
        "warning: session_a_tools.jsonl:4: names another session in sessionId",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    let expected = json!({
        "chats": 3, "created": 3, "stored": 5, "known": 0,
        "messages_left_out": 0, "tool_runs_stored": 2, "tool_runs_known": 0, "calls_stored": 0,
        "calls_known": 0, "warnings": 4, "errors": 7,
    });
    assert_eq!((&numbers, code), (&expected, Some(1)), "{said}");
    let first = chat(&place, "a").await?;
    assert_eq!((first.title.as_deref(), first.last_sequence), (Some("Kept"), 4));
    assert_eq!(place.messages(&first.chat_id).await?[1].body.content, Value::Null);
    // A session that the index does not have is rebuilt from its file.
    let rebuilt = chat(&place, "new").await?;
    assert_eq!(rebuilt.created_at, TIME.parse::<DateTime<Utc>>()?);
    assert_eq!(rebuilt.user_id, Some(UserId::parse("bob")?));
    Ok(())
}

#[tokio::test]
async fn a_line_that_was_mended_is_imported_and_names_that_are_no_files_are_told() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    let lines = ["one", "two", "three"].map(|text| line("user", text, &json!({})));
    let marked = |second: &str| format!("\u{feff}{}{second}{}", lines[0], lines[2]);
    write(&directory, "session_a.jsonl", &marked("{bad\n"))?;
    fs::create_dir(directory.path().join("session_b.jsonl"))?;
    std::os::unix::fs::symlink("nothing", directory.path().join("session_c.jsonl"))?;
    let (numbers, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!((&numbers["stored"], code), (&json!(2), Some(1)), "{said}");
    for expected in [
        "error: session_a.jsonl:2: cannot be read",
        "error: session_b.jsonl: is no file",
        "error: session_c.jsonl: cannot be read",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }
    write(&directory, "session_a.jsonl", &marked(&lines[1]))?;
    let mended = import(&directory)?;
    let (numbers, said, _) = place.run(&mended).await?;
    assert_eq!((&numbers["stored"], &numbers["known"]), (&json!(1), &json!(2)), "{said}");
    assert!(said.contains("warning: session_a.jsonl:2: was not imported before"), "{said}");
    let (again, ..) = place.run(&mended).await?;
    assert_eq!((&again["stored"], &again["known"]), (&json!(0), &json!(3)));
    let messages = place.messages(&ChatId::parse("a")?).await?;
    let said: Vec<_> = messages.iter().filter_map(|it| it.body.content.as_str()).collect();
    assert_eq!(said, ["one", "three", "two"]);
    // The mark at the beginning does not count as a part of the line.
    write(&directory, "session_a.jsonl", &lines.concat())?;
    let (unmarked, ..) = place.run(&mended).await?;
    assert_eq!((&unmarked["stored"], &unmarked["known"]), (&json!(0), &json!(3)));
    Ok(())
}

#[tokio::test]
async fn sessions_without_any_index_are_rebuilt_from_their_files() -> Result<()> {
    let (place, directory) = (Place::new().await?, original()?);
    fs::remove_file(directory.path().join("index.json"))?;
    let (numbers, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!((&numbers["created"], code), (&json!(2), Some(0)), "{said}");
    assert!(said.contains("index.json.backup: is missing: the sessions are rebuilt"), "{said}");
    Ok(())
}

/// Fills a chat with all that the layout has no field for.
async fn native(place: &Place) -> Result<()> {
    let new = NewChatSession {
        chat_id: Some(ChatId::parse("native")?),
        system_prompt: Some("You are terse.".to_owned()),
        user_id: Some(UserId::parse("alice")?),
        ..NewChatSession::of(WorkflowName::parse("Generator")?)
    };
    let chat_id = place.store.create_chat(&place.scope, new).await?.chat_id;
    let author = Some(Author { user_id: UserId::parse("alice")?, display_name: None });
    let mut called = MessageBody::new("assistant", Some("Analyst"), Value::Null);
    let calls =
        json!([{ "id": "1", "type": "function", "function": { "name": "f", "arguments": "{}" } }]);
    called.extra.insert("tool_calls".to_owned(), calls);
    let mut result = MessageBody::new("tool", None, "42");
    result.extra.insert("tool_call_id".to_owned(), "1".into());
    let messages = vec![
        NewMessage { author, ..MessageBody::new("user", Some("Alice"), "hi").into() },
        called.into(),
        result.into(),
        MessageBody::new("user", None, "a slip").into(),
        MessageBody::new("assistant", None, json!([{ "$oid": 1 }])).into(),
    ];
    place.store.append(&place.scope, &chat_id, messages).await?;
    place.store.delete_message(&place.scope, &chat_id, 3).await?;
    let edit = MessageEdit { content: Some("43".into()), ..MessageEdit::default() };
    place.store.update_message(&place.scope, &chat_id, 2, edit).await?;
    let run = |id: Option<&str>| NewToolRun {
        run_id: id.and_then(|id| ToolRunId::parse(id).ok()),
        tool_name: "f".to_owned(),
        agent: Some("Analyst".to_owned()),
        tool_call_id: Some("1".to_owned()),
        error: Some("late".to_owned()),
        metadata: [("success".to_owned(), json!({ "$oid": 1 })), ("x".to_owned(), json!(0.5))]
            .into_iter()
            .collect(),
        ..NewToolRun::default()
    };
    // More than a page, and of one moment.
    let runs = (0..150).map(|n| run(Some(&format!("run_{n}")))).chain([run(None)]).collect();
    place.store.record_tool_runs(&place.scope, &chat_id, runs).await?;
    Ok(())
}

#[tokio::test]
async fn what_was_exported_and_imported_is_exported_with_the_same_bytes() -> Result<()> {
    let place = Place::new().await?;
    place.run(&import(&original()?)?).await?;
    native(&place).await?;
    let archived = SessionChange::to_lifecycle(Lifecycle::Archived);
    place.store.change_chat(&place.scope, &ChatId::parse("native")?, archived).await?;
    let first = tempfile::tempdir()?;
    let exported = place.succeed(&export(&first)?).await?;
    let expected = json!({ "chats": 4, "messages": 9, "tool_runs": 153, "deleted_messages_left_out": 1, "errors": 0 });
    assert_eq!(exported, expected);
    let written = files(first.path())?;
    let names: Vec<_> = written.keys().map(String::as_str).collect();
    let sessions = ["abc123", "abc123_tools", "gone", "native", "native_tools", "old"];
    let sessions = sessions.map(|id| format!("session_{id}.jsonl"));
    assert_eq!(names[0], "index.json");
    assert_eq!(names[1..], sessions);
    // The lines of the original come back as they were.
    let lines = &fs::read_to_string(original()?.path().join("session_abc123.jsonl"))?;
    assert_eq!(&written["session_abc123.jsonl"], lines);

    let other = Place::new().await?;
    let imported = other.succeed(&import(&first)?).await?;
    assert_eq!((&imported["created"], &imported["stored"]), (&json!(4), &json!(9)));
    assert_eq!(imported["tool_runs_stored"], 153);
    assert_eq!(chat(&other, "native").await?.system_prompt.as_deref(), Some("You are terse."));
    let second = tempfile::tempdir()?;
    other.succeed(&export(&second)?).await?;
    assert_eq!(files(second.path())?, written);

    // Where it came from, all of it is known.
    let known = place.succeed(&import(&first)?).await?;
    assert_eq!((&known["stored"], &known["known"]), (&json!(0), &json!(9)));
    let (stored, before) = (&known["tool_runs_stored"], &known["tool_runs_known"]);
    assert_eq!((stored, before), (&json!(0), &json!(153)));

    // One chat replaces its file alone, and the index keeps the others.
    let chat_id = ChatId::parse("abc123")?;
    place
        .store
        .append(&place.scope, &chat_id, vec![MessageBody::new("user", None, "x").into()])
        .await?;
    place.succeed(&[&export(&first)?[..], &["--chat", "abc123"]].concat()).await?;
    let index: Value = serde_json::from_str(&files(first.path())?["index.json"])?;
    assert_eq!(index.as_object().map(serde_json::Map::len), Some(4));
    assert_eq!(index["session_abc123"]["messageCount"], 5);
    let backup = &files(first.path())?["index.json.backup"];
    assert_eq!(backup, &written["index.json"]);
    let since = place.succeed(&[&export(&first)?[..], &["--since", "2025-07-01"]].concat()).await?;
    assert_eq!(since["chats"], 2, "of 2025 is only what was active since");
    Ok(())
}

#[tokio::test]
async fn an_export_over_a_broken_index_says_what_to_do_and_changes_nothing() -> Result<()> {
    let place = Place::new().await?;
    native(&place).await?;
    let directory = original()?;
    write(&directory, "index.json", "{\"session_a\": ")?;
    let before = files(directory.path())?;
    // It prints no numbers.
    let said = place.run(&export(&directory)?).await.err().context("it was exported")?.to_string();
    let index = directory.path().join("index.json");
    for part in [text(&index)?, "cannot be read, and nothing was exported", "index.json.backup"] {
        assert!(said.contains(part), "{said}");
    }
    assert_eq!(files(directory.path())?, before);
    fs::remove_file(index)?;
    place.succeed(&export(&directory)?).await?;
    Ok(())
}

#[tokio::test]
async fn an_import_that_is_killed_goes_on_where_it_was() -> Result<()> {
    let place = Place::new().await?;
    let directory = tempfile::tempdir()?;
    let lines: Vec<_> =
        (0..20_000).map(|it| line("user", &format!("message {it}"), &json!({}))).collect();
    write(&directory, "session_long.jsonl", &lines.concat())?;
    write(&directory, "index.json", "{}")?;
    let chat_id = ChatId::parse("long")?;
    let mut command = tests::binary::command(&import(&directory)?).await?;
    place.settings.apply(&mut command);
    let mut importing = command.spawn()?;
    until("some messages", async || {
        let chat = place.store.get_chat(&place.scope, &chat_id).await?;
        Ok(chat.filter(|chat| chat.last_sequence > 0).map(drop))
    })
    .await?;
    let pid = Pid::from_raw(i32::try_from(importing.id().context("it has ended")?)?);
    kill_process(pid.context("not a process id")?, Signal::KILL)?;
    importing.wait().await?;
    let before = chat(&place, "long").await?.last_sequence;
    assert!(before < 20_000, "it was not killed half way");
    let rest = place.succeed(&import(&directory)?).await?;
    assert_eq!(
        rest["stored"].as_u64().zip(rest["known"].as_u64()).map(|(one, other)| one + other),
        Some(20_000)
    );
    let ids = place.database.stored_event_ids("long").await?;
    let lines: Vec<_> =
        ids.iter().filter_map(|id| id.split(':').nth(1)?.parse::<u64>().ok()).collect();
    assert_eq!(lines, (1..=20_000).collect::<Vec<_>>());
    Ok(())
}

fn compress(directory: &TempDir, name: &str) -> Result<Vec<u8>> {
    let path = directory.path().join(name);
    let bytes = compressed(&fs::read(&path)?)?;
    fs::write(directory.path().join(format!("{name}.gz")), &bytes)?;
    fs::remove_file(&path)?;
    Ok(bytes)
}

#[tokio::test]
async fn compressed_sessions_are_imported_like_others() -> Result<()> {
    let (place, directory) = (Place::new().await?, original()?);
    let bytes = compress(&directory, "session_abc123.jsonl")?;
    compress(&directory, "session_abc123_tools.jsonl")?;
    let (numbers, said, code) = place.run(&import(&directory)?).await?;
    let expected = json!({
        "chats": 3, "created": 3, "stored": 5, "known": 0,
        "messages_left_out": 0, "tool_runs_stored": 2, "tool_runs_known": 0, "calls_stored": 0,
        "calls_known": 0, "warnings": 2, "errors": 0,
    });
    assert_eq!((&numbers, code), (&expected, Some(0)), "{said}");
    assert!(
        said.contains("warning: session_abc123_tools.jsonl.gz:2: has an executionTime"),
        "{said}"
    );
    // A file to which more was added has several parts.
    let next = compressed(line("user", "And again", &json!({})).as_bytes())?;
    fs::write(directory.path().join("session_abc123.jsonl.gz"), [bytes, next].concat())?;
    let (grown, ..) = place.run(&import(&directory)?).await?;
    assert_eq!((&grown["stored"], &grown["known"]), (&json!(1), &json!(5)));
    // Of a file that is there twice, it is not known which is newer.
    write(&directory, "session_abc123.jsonl", &line("system", "Be brief.", &json!({})))?;
    let (twice, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!((&twice["stored"], &twice["known"], code), (&json!(0), &json!(2), Some(1)));
    assert!(
        said.contains("error: session_abc123.jsonl.gz: is there without compression, too"),
        "{said}"
    );
    Ok(())
}

#[tokio::test]
async fn a_compressed_export_holds_the_same_and_replaces_what_was_not_compressed() -> Result<()> {
    let place = Place::new().await?;
    place.run(&import(&original()?)?).await?;
    native(&place).await?;
    let (directory, plain) = (tempfile::tempdir()?, tempfile::tempdir()?);
    place.succeed(&export(&plain)?).await?;
    let plain = files(plain.path())?;
    place.succeed(&export(&directory)?).await?;
    let gzip = [&export(&directory)?[..], &["--gzip"]].concat();
    let mut compressed = Vec::new();
    for _ in 0..2 {
        place.succeed(&gzip).await?;
        let mut found = BTreeMap::new();
        for file in directory.path().read_dir()? {
            let path = file?.path();
            let name = path.file_name().context("no name")?.to_string_lossy().into_owned();
            if let Some(name) = name.strip_suffix(".gz") {
                found.insert(name.to_owned(), fs::read(&path)?);
            } else {
                assert!(name.starts_with("index.json"), "{name}");
            }
        }
        compressed.push(found);
    }
    assert_eq!(compressed[0], compressed[1], "it has the same bytes");
    for (name, bytes) in &compressed[0] {
        let mut text = String::new();
        flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text)?;
        assert_eq!(text, plain[name], "{name}");
    }
    assert_eq!(compressed[0].len() + 1, plain.len());
    let other = Place::new().await?;
    let imported = other.succeed(&import(&directory)?).await?;
    assert_eq!((&imported["stored"], &imported["tool_runs_stored"]), (&json!(9), &json!(153)));
    // Without compression again, the compressed files are gone.
    place.succeed(&export(&directory)?).await?;
    let mut again = files(directory.path())?;
    again.remove("index.json.backup");
    assert_eq!(again, plain);
    Ok(())
}

#[tokio::test]
async fn what_can_be_read_of_a_damaged_compressed_file_is_imported_and_told() -> Result<()> {
    let (place, directory) = (Place::new().await?, tempfile::tempdir()?);
    write(&directory, "index.json", "{}")?;
    // Texts that compress badly, so that a part of the file has a part of the lines.
    let text = |n: u64| format!("{:016x}", (n + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let lines: Vec<_> = (0..5_000).map(|n| line("user", &text(n), &json!({}))).collect();
    write(&directory, "session_cut.jsonl", &lines.concat())?;
    write(&directory, "session_flipped.jsonl", &lines.concat())?;
    write(&directory, "session_whole.jsonl", &line("user", "hi", &json!({})))?;
    let whole = compress(&directory, "session_cut.jsonl")?;
    fs::write(directory.path().join("session_cut.jsonl.gz"), &whole[..whole.len() / 2])?;
    let mut flipped = compress(&directory, "session_flipped.jsonl")?;
    let middle = flipped.len() / 2;
    flipped[middle..middle + 64].fill(0xff);
    fs::write(directory.path().join("session_flipped.jsonl.gz"), &flipped)?;

    let (numbers, said, code) = place.run(&import(&directory)?).await?;
    assert_eq!((&numbers["chats"], &numbers["errors"], code), (&json!(3), &json!(2), Some(1)));
    assert_eq!(place.messages_of("whole").await?.len(), 1, "the others are imported");
    // What a damaged file holds may still read like messages.
    let flipped = place.store.get_chat(&place.scope, &ChatId::parse("flipped")?).await?;
    assert_eq!(flipped, None);
    let told = "error: session_flipped.jsonl.gz: the compressed file is damaged: ";
    assert!(said.contains(told), "{told} is not in {said}");
    let stored = place.messages_of("cut").await?;
    assert!((100..5_000).contains(&stored.len()), "{}", stored.len());
    for (n, message) in (0..).zip(&stored) {
        assert_eq!(message.body.content, text(n), "{n}");
    }
    let told =
        format!("error: session_cut.jsonl.gz:{}: the compressed file is cut off", stored.len() + 1);
    assert!(said.contains(&told), "{told} is not in {said}");
    fs::write(directory.path().join("session_cut.jsonl.gz"), &whole)?;
    fs::write(directory.path().join("session_flipped.jsonl.gz"), &whole)?;
    let mended = place.succeed(&import(&directory)?).await?;
    assert_eq!(
        mended["stored"].as_u64().zip(mended["known"].as_u64()).map(|(one, other)| one + other),
        Some(10_001)
    );
    assert_eq!(place.messages_of("cut").await?.len(), 5_000);
    Ok(())
}
