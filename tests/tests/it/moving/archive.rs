//! An app moves to another database with everything.

use std::fs;
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use mongodb::bson::Document;
use persistence::{
    Assistants as _, ChatSessions as _, Forks as _, Messages as _, StoreError, ToolRuns as _,
};
use records::{
    AssistantContent, AssistantId, ChatId, MessageBody, MessageEdit, NewAssistant, NewChatSession,
    NewFork, NewToolRun, WorkflowName,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::binary::{run, told};
use tests::client::APP;
use tests::settings::Settings;
use tests::waiting::until;

use super::{Place, text};

/// Returns the lines of an archive; the first one says when it was made, and is no part of them.
async fn archive(arguments: &[&str], settings: &Settings) -> Result<Vec<String>> {
    let printed = told(&run(arguments, settings).await?)?;
    Ok(printed.lines().map(str::to_owned).collect())
}

pub(super) async fn verify(settings: &Settings) -> Result<()> {
    for of in ["stats", "wallets"] {
        let verified = told(&run(&[of, "verify"], settings).await?)?;
        ensure!(verified.contains(" 0 differences"), "{verified}");
    }
    let checked = told(&run(&["check", "--deep"], settings).await?)?;
    ensure!(checked.contains(" fits together"), "{checked}");
    Ok(())
}

async fn import(place: &Place, lines: &[String]) -> Result<(Value, String, Option<i32>)> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), lines.join("\n") + "\n")?;
    let output = run(&["import", "archive", text(file.path())?, "--json"], &place.settings).await?;
    let numbers = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Ok((numbers, String::from_utf8(output.stderr)?, output.status.code()))
}

/// Moves the app of a service to another database, and compares the two.
pub(crate) async fn moves_whole(settings: &Settings) -> Result<()> {
    let app = ["export", "app", APP];
    let lines = archive(&app, settings).await?;
    let place = Place::new().await?;
    let (numbers, said, code) = import(&place, &lines).await?;
    ensure!(code == Some(0), "{said}");
    verify(&place.settings).await?;
    let moved = archive(&app, &place.settings).await?;
    ensure!(moved[1..] == lines[1..], "the other database has something else");
    let (again, said, code) = import(&place, &lines).await?;
    let expected = json!({ "chats": numbers["chats"], "stored": 0, "known": numbers["stored"], "differ": 0, "differing_lines": [] });
    assert_eq!((again, code), (expected, Some(0)), "{said}");
    verify(&place.settings).await
}

/// Creates a chat with sealed messages, edits, a deletion, and a fork that has changed since.
async fn fill(place: &Place) -> Result<()> {
    let (store, scope) = (&place.store, &place.scope);
    let new = NewChatSession {
        chat_id: Some(ChatId::parse("source")?),
        ..NewChatSession::of(WorkflowName::parse("Generator")?)
    };
    let chat_id = store.create_chat(scope, new).await?.chat_id;
    for batch in 0..20 {
        let message =
            |it| MessageBody::new("user", None, json!({ "$oid": batch, "n": it, "x": 0.5 }));
        let messages = (0..500).map(|it| message(it).into()).collect();
        store.append(scope, &chat_id, messages).await?;
    }
    let fork = NewFork { chat_id: Some(ChatId::parse("fork")?), ..NewFork::default() };
    let fork = store.fork_chat(scope, &chat_id, fork).await?.chat_id;
    for chat_id in [&chat_id, &fork] {
        let edit = MessageEdit { content: Some(chat_id.as_str().into()), ..MessageEdit::default() };
        store.update_message(scope, chat_id, 3, edit).await?;
        store.delete_message(scope, chat_id, 5).await?;
    }
    store.append(scope, &fork, vec![MessageBody::new("user", None, "on").into()]).await?;
    let run = NewToolRun {
        tool_name: "search".to_owned(),
        result: json!({ "$oid": 1 }),
        ..NewToolRun::default()
    };
    store.record_tool_runs(scope, &chat_id, vec![run]).await?;
    for (id, config) in [("weather", json!({ "$oid": 1 })), ("news", json!({}))] {
        let content = AssistantContent {
            name: id.to_owned(),
            kind: "assistant".to_owned(),
            config: config.as_object().cloned().unwrap_or_default(),
            ..AssistantContent::default()
        };
        let new = NewAssistant { content, ..NewAssistant::default() };
        store.put_assistant(scope, &AssistantId::parse(id)?, new).await?;
    }
    place.store.finish_tasks().await;
    Ok(())
}

#[tokio::test]
async fn an_import_that_is_killed_goes_on_and_leaves_nothing_twice() -> Result<()> {
    let source = Place::new().await?;
    fill(&source).await?;
    let app = ["export", "app", APP];
    let lines = archive(&app, &source.settings).await?;
    let place = Place::new().await?;
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), lines.join("\n") + "\n")?;
    let mut command = tests::binary::command(&["import", "archive", text(file.path())?]).await?;
    place.settings.apply(&mut command);
    let mut importing = command.spawn()?;
    until("the first documents", async || {
        let segments =
            place.database.raw().collection::<mongodb::bson::RawDocumentBuf>("chat_segments");
        Ok((segments.estimated_document_count().await? > 0).then_some(()))
    })
    .await?;
    let pid = Pid::from_raw(i32::try_from(importing.id().context("it has ended")?)?);
    kill_process(pid.context("not a process id")?, Signal::KILL)?;
    importing.wait().await?;
    let (numbers, said, code) = import(&place, &lines).await?;
    assert_eq!((&numbers["differ"], code), (&json!(0), Some(0)), "{said}");
    assert_eq!(archive(&app, &place.settings).await?[1..], lines[1..]);
    verify(&place.settings).await?;
    assert_eq!(place.database.stored_event_ids("source").await?.len(), 10_000);

    // A chat that goes on there is left as it is.
    let chat_id = ChatId::parse("source")?;
    place
        .store
        .append(&place.scope, &chat_id, vec![MessageBody::new("user", None, "on").into()])
        .await?;
    let (numbers, _, code) = import(&place, &lines).await?;
    assert_eq!((numbers["stored"].as_u64(), code), (Some(0), Some(1)));
    assert!(numbers["differ"].as_u64() > Some(0));
    let session = r#"{"record":"document","collection":"chat_sessions","document":{"_id":"source""#;
    let line = lines.iter().position(|line| line.starts_with(session)).context("no session")? + 1;
    let named = numbers["differing_lines"].as_array().context("no lines")?;
    assert!(named.contains(&json!(line)), "{numbers}");
    assert_eq!(place.messages_of("source").await?.len(), 10_001);
    verify(&place.settings).await
}

/// The statistics are those of the chats that are there.
#[tokio::test]
async fn an_import_that_is_told_to_stop_counts_what_it_has_stored() -> Result<()> {
    let (source, place) = (Place::new().await?, Place::new().await?);
    for _ in 0..1_000 {
        let new = NewChatSession::of(WorkflowName::parse("Generator")?);
        source.store.create_chat(&source.scope, new).await?;
    }
    let lines = archive(&["export", "app", APP], &source.settings).await?;
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), lines.join("\n") + "\n")?;
    let mut command = tests::binary::command(&["import", "archive", text(file.path())?]).await?;
    place.settings.apply(&mut command);
    let importing = command.stderr(Stdio::piped()).spawn()?;
    let sessions = place.database.raw().collection::<Document>("chat_sessions");
    let count = async || anyhow::Ok(sessions.estimated_document_count().await?);
    until("the first chats", async || Ok((count().await? > 3).then_some(()))).await?;
    let pid = Pid::from_raw(i32::try_from(importing.id().context("it has ended")?)?);
    kill_process(pid.context("not a process id")?, Signal::TERM)?;
    let output = importing.wait_with_output().await?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("it was told to stop; repeat it"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert!(count().await? < 1_000, "nothing was left to import");
    let verified = told(&run(&["stats", "verify"], &place.settings).await?)?;
    ensure!(verified.contains(" 0 differences"), "{verified}");
    let (numbers, said, code) = import(&place, &lines).await?;
    assert_eq!((&numbers["differ"], code), (&json!(0), Some(0)), "{said}");
    verify(&place.settings).await
}

/// Otherwise the chat would show what the import has stored already.
#[tokio::test]
async fn the_id_of_a_chat_is_taken_until_its_import_is_whole_or_purged() -> Result<()> {
    let source = Place::new().await?;
    fill(&source).await?;
    let lines = archive(&["export", "chat", APP, "source"], &source.settings).await?;
    let is_session = |line: &String| line.contains(r#""collection":"chat_sessions""#);
    let session = lines.iter().position(is_session).context("there is no session")?;
    let chat_id = ChatId::parse("source")?;
    let new = NewChatSession {
        chat_id: Some(chat_id.clone()),
        ..NewChatSession::of(WorkflowName::parse("Generator")?)
    };
    // What is read last is stored when the next line is of another collection.
    let mut begun = lines[..session].to_vec();
    begun.push(json!({ "record": "document", "collection": "none", "document": {} }).to_string());
    let (repeated, purged) = (Place::new().await?, Place::new().await?);
    for place in [&repeated, &purged] {
        let (_, said, code) = import(place, &begun).await?;
        assert_eq!(code, Some(1), "{said}");
        assert_eq!(place.store.get_chat(&place.scope, &chat_id).await?, None);
        let created = place.store.create_chat(&place.scope, new.clone()).await;
        assert!(matches!(created, Err(StoreError::ChatExists(_))), "{created:?}");
        for of in [&["check", "--deep"][..], &["check", "--deep", "--app", APP]] {
            let output = run(of, &place.settings).await?;
            let checked = String::from_utf8([output.stdout, output.stderr].concat())?;
            assert_eq!(checked.matches("(unfinished-import)").count(), 1, "{checked}");
            assert!(!checked.contains("(orphan)"), "{checked}");
        }
    }

    let (numbers, said, code) = import(&repeated, &lines).await?;
    assert_eq!((&numbers["differ"], code), (&json!(0), Some(0)), "{said}");
    verify(&repeated.settings).await?;
    let moved = archive(&["export", "chat", APP, "source"], &repeated.settings).await?;
    // The first import has added up the statistics of a chat that was not there.
    let is_rollup = |line: &&String| line.contains(r#""collection":"workflow_stats""#);
    let of_both = [&moved, &lines].map(|of| of.iter().skip(1).filter(|it| !is_rollup(it)));
    let [moved, lines] = of_both.map(Iterator::collect::<Vec<_>>);
    ensure!(moved == lines, "the other database has something else");

    for expected in ["1 chats purged", "cannot purge"] {
        let output = run(&["purge", "--app", APP, "--chat", "source"], &purged.settings).await?;
        let said = String::from_utf8([output.stdout, output.stderr].concat())?;
        assert!(said.contains(expected), "{said}");
    }
    verify(&purged.settings).await?;
    purged.store.create_chat(&purged.scope, new).await?;
    assert_eq!(purged.messages_of("source").await?.len(), 0);
    Ok(())
}

#[tokio::test]
async fn a_fork_moves_with_what_it_shares() -> Result<()> {
    let (source, place) = (Place::new().await?, Place::new().await?);
    fill(&source).await?;
    let lines = archive(&["export", "chat", APP, "fork"], &source.settings).await?;
    let (numbers, said, code) = import(&place, &lines).await?;
    assert_eq!((&numbers["chats"], code), (&json!(2), Some(0)), "{said}");
    for chat_id in ["source", "fork"] {
        assert_eq!(place.messages_of(chat_id).await?, source.messages_of(chat_id).await?);
    }
    verify(&place.settings).await?;
    let missing = run(&["export", "chat", APP, "nobody"], &source.settings).await?;
    assert_eq!(missing.status.code(), Some(1));
    Ok(())
}

#[tokio::test]
async fn an_archive_that_is_not_whole_or_not_of_its_app_is_refused() -> Result<()> {
    let (source, place) = (Place::new().await?, Place::new().await?);
    fill(&source).await?;
    let lines = archive(&["export", "chat", APP, "source"], &source.settings).await?;
    let replaced = |from: &str, to: &str| -> Vec<String> {
        lines.iter().map(|line| line.replace(from, to)).collect()
    };
    let last = lines.len() - 1;
    let of_other = replaced(r#""app_id":"acme_corp""#, r#""app_id":"other""#);
    let sessions = r#""collection":"chat_sessions""#;
    for (broken, reason) in [
        (lines[..last].to_vec(), "is incomplete: its last line is missing"),
        ([&lines[..2], &lines[3..]].concat(), "has other numbers of chats or documents"),
        (lines[1..].to_vec(), "this is not the first line of an archive"),
        (replaced(r#""version":1"#, r#""version":2"#), "the archive has version 2"),
        (
            replaced(r#""format":12"#, r#""format":11"#),
            "the archive has the format 11, and the database 12",
        ),
        ([&lines[..1], &of_other[1..]].concat(), "the document is of the app \"other\""),
        (replaced(sessions, r#""collection":"access_keys""#), "is refused"),
        (replaced(sessions, r#""collection":"nothing""#), "there is no collection"),
    ] {
        let (_, said, code) = import(&place, &broken).await?;
        assert_eq!(code, Some(1), "{reason}");
        assert!(said.contains(reason), "{reason} is not in {said}");
    }
    Ok(())
}

/// Otherwise the author of an archive could name the chat of another person as the source of a fork.
#[tokio::test]
async fn a_fork_shows_nothing_that_its_archive_does_not_hold() -> Result<()> {
    let source = Place::new().await?;
    fill(&source).await?;
    let lines = archive(&["export", "chat", APP, "fork"], &source.settings).await?;
    let begins = |line: &String| line.contains(r#""record":"chat""#);
    let fork = lines.iter().rposition(begins).context("there is no fork")?;
    let of_source = lines.iter().position(begins).context("there is no source")?;
    let without_source: Vec<String> = [&lines[..of_source], &lines[fork..]].concat();

    let place = Place::new().await?;
    let chat_id = ChatId::parse("source")?;
    let new = NewChatSession {
        chat_id: Some(chat_id.clone()),
        ..NewChatSession::of(WorkflowName::parse("Generator")?)
    };
    place.store.create_chat(&place.scope, new).await?;
    for _ in 0..20 {
        let secret = (0..500).map(|_| MessageBody::new("user", None, "secret").into()).collect();
        place.store.append(&place.scope, &chat_id, secret).await?;
    }
    place.store.finish_tasks().await;
    for hostile in [&without_source, &lines] {
        let (_, said, code) = import(&place, hostile).await?;
        assert_eq!(code, Some(1), "{said}");
        assert!(said.contains("it shares messages of the chat source"), "{said}");
        assert_eq!(place.store.get_chat(&place.scope, &ChatId::parse("fork")?).await?, None);
    }
    // What was stored of the fork before its session belongs to no chat: `check --deep` names it, and nothing counts it.
    let verified = told(&run(&["stats", "verify"], &place.settings).await?)?;
    ensure!(verified.contains(" 0 differences"), "{verified}");
    Ok(())
}
