//! The commands other than `serve`, and the help of the binary.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use chrono::{TimeDelta, Utc};
use mongodb::bson::{DateTime, Document, doc};
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::{
    AuditLog as _, ChatSessions as _, Leases as _, Members as _, Messages as _, Purges as _,
    Store as _, ToolRuns as _, Wallets as _,
};
use records::{
    Actor, AppId, Author, ChatId, ChatStatus, Clock as _, Lease, Lifecycle, MemberRole,
    MessageBody, NewChatSession, NewLease, NewMessage, NewToolRun, Owner, Scope, SessionChange,
    SystemClock, UserId, WorkflowName,
};
use reqwest::Method;
use resume::dialect;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tests::binary::run;
use tests::client::APP;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::transcript;
use tests::waiting::until;
use tokio::time::sleep;

use crate::integrity::Key;

#[tokio::test]
async fn check_finds_nothing_wrong_with_a_replica_set() -> Result<()> {
    let database = Database::create().await?;
    let output = run(&["check"], &Settings::of(&database)).await?;
    let report = String::from_utf8(output.stdout)?;
    assert!(output.status.success(), "{report}");
    let findings: Vec<_> = report.lines().map(finding).collect();
    let of_settings = [("ok", "configuration"), ("ok", "address"), ("ok", "connection")];
    let of_database = [
        ("ok", "server"),
        ("ok", "replica set"),
        ("ok", "features"),
        ("ok", "rights"),
        ("ok", "format"),
        ("WARN", "indexes"),
        ("ok", "write concern"),
    ];
    assert_eq!(findings, [&of_settings[..], &of_database].concat(), "{report}");
    Ok(())
}

#[tokio::test]
async fn check_says_what_to_do_about_a_server_that_is_away() -> Result<()> {
    let nowhere = "mongodb://127.0.0.1:1/?replicaSet=rs0";
    let settings = Settings::at(nowhere, "reprise").with("mongo.deadline_ms", 500);
    let output = run(&["check"], &settings).await?;
    let report = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(1), "{report}");
    let findings: Vec<_> = report.lines().map(finding).collect();
    let of_settings = [("ok", "configuration"), ("ok", "address")];
    assert_eq!(findings, [&of_settings[..], &[("FAULT", "connection")]].concat(), "{report}");
    assert!(report.contains("start it, or correct the address in mongo.uri"), "{report}");
    Ok(())
}

#[tokio::test]
async fn check_finds_what_keeps_serve_from_starting() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("auth.mode", "jwt");
    let missing_key = settings.clone().with("auth.algorithm", "RS256");
    let missing_file = missing_key.clone().with("auth.key_file", "/nowhere/key.pem");
    let weak = settings.clone().with("auth.algorithm", "HS256").with("auth.secret", "short");
    for broken in [settings, missing_key, missing_file, weak] {
        let output = run(&["check"], &broken).await?;
        let report = String::from_utf8(output.stdout)?;
        let first = report.lines().next().context("no report")?;
        assert_eq!(finding(first), ("FAULT", "configuration"), "{report}");
        assert_eq!(output.status.code(), Some(1), "{report}");
        let served = run(&["serve"], &broken).await?;
        assert_eq!(String::from_utf8(served.stdout)?, "", "it must not say that it listens");
        assert_eq!(served.status.code(), Some(1));
    }
    Ok(())
}

#[tokio::test]
async fn check_warns_about_tokens_for_any_service() -> Result<()> {
    let nowhere = "mongodb://127.0.0.1:1/?replicaSet=rs0";
    let settings = Settings::at(nowhere, "reprise").with("mongo.deadline_ms", 500);
    let settings = settings.with("auth.mode", "jwt").with("auth.algorithm", "HS256");
    let any = settings.with("auth.secret", "a secret of at least thirty-two bytes");
    for (settings, is_warned) in [(any.clone(), true), (any.with("auth.audience", "me"), false)] {
        let report = String::from_utf8(run(&["check"], &settings).await?.stdout)?;
        assert_eq!(report.contains("WARN   configuration"), is_warned, "{report}");
    }
    Ok(())
}

#[tokio::test]
async fn history_prints_nothing_that_controls_a_terminal() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    let scope = Scope::service(AppId::parse(APP)?);
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let chat_id = store.create_chat(&scope, new).await?.chat_id;
    let hostile = "\u{1b}[31m \u{9b}31m \u{85}\u{7f} \u{202e}abc\u{2028}";
    for role in ["system", "user"] {
        let message = MessageBody::new(role, Some(role), hostile);
        store.append(&scope, &chat_id, vec![message.into()]).await?;
    }
    let settings = Settings::of(&database);
    let is_safe = |text: &str| {
        let breaks =
            |c: char| c.is_control() && c != '\n' || ('\u{2028}'..='\u{202e}').contains(&c);
        !text.contains(breaks)
    };
    for options in [
        &["--dialect", "openai"][..],
        &["--dialect", "anthropic"],
        &["--dialect", "openai", "--format", "json"],
        &["--dialect", "openai", "--format", "ndjson"],
    ] {
        let arguments = [&["history", APP, chat_id.as_str()], options].concat();
        let output = run(&arguments, &settings).await?;
        let (printed, notes) =
            (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
        assert!(output.status.success(), "{notes}");
        assert!(is_safe(&printed) && is_safe(&notes), "{options:?}: {printed:?} {notes:?}");
        let values = printed.lines().map(serde_json::from_str::<serde_json::Value>);
        let values: Vec<_> = values.collect::<Result<_, _>>()?;
        let json = serde_json::Value::Array(values).to_string();
        let encoded = serde_json::to_string(hostile)?;
        assert!(json.contains(encoded.trim_matches('"')), "{options:?}: the text has changed");
    }
    Ok(())
}

#[tokio::test]
async fn a_log_in_json_is_json_from_its_first_line_to_its_last() -> Result<()> {
    let data_dir = tempfile::tempdir()?;
    let settings = Settings::embedded(data_dir.path()).with("log.format", "json");
    let settings = settings.with("log.filter", "info");
    let mut command = tests::binary::command(&["serve"]).await?;
    settings.apply(&mut command);
    let service = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let lock = data_dir.path().join("local-mongod.lock");
    until("the mongod", async || {
        let text = std::fs::read_to_string(&lock).unwrap_or_default();
        Ok(text.contains("uri ").then_some(()))
    })
    .await?;
    // A second service on the same directory fails.
    let failed = run(&["serve"], &settings).await?;
    assert_eq!(failed.status.code(), Some(1));
    let pid = Pid::from_raw(i32::try_from(service.id().context("it has ended")?)?);
    kill_process(pid.context("not a process id")?, Signal::TERM)?;
    let ended = service.wait_with_output().await?;
    assert!(ended.status.success());
    for output in [ended.stdout, ended.stderr, failed.stdout, failed.stderr] {
        let text = String::from_utf8(output)?;
        for line in text.lines() {
            let value: Result<serde_json::Value, _> = serde_json::from_str(line);
            assert!(value.is_ok_and(|value| value.is_object()), "{line}");
        }
    }
    Ok(())
}

/// Splits a line of the report into mark and subject, which are columns.
fn finding(line: &str) -> (&str, &str) {
    let (mark, rest) = line.split_at_checked(7).unwrap_or((line, ""));
    let (what, _) = rest.split_at_checked(14).unwrap_or((rest, ""));
    (mark.trim_end(), what.trim_end())
}

#[tokio::test]
async fn demo_kills_its_writer_and_misses_nothing() -> Result<()> {
    let database = Database::create().await?;
    let output = run(&["demo", "--pace-ms", "1"], &Settings::of(&database)).await?;
    let shown = String::from_utf8(output.stdout)?;
    let complaints = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{shown}\n{complaints}");
    let total = transcript::fixture("group-chat.jsonl")?.len();
    let verdict = format!("{total} stored, {total} resumed, 0 left out by the strict form");
    assert!(shown.contains("kill -9"), "{shown}");
    assert!(shown.contains(&verdict), "{shown}");
    assert!(shown.contains("every message is there once, in order"), "{shown}");
    Ok(())
}

#[tokio::test]
async fn demo_fills_a_database_once_and_serves_it() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let mut first = None;
    for _ in 0..2 {
        let mut service = Service::start_by(&["demo", "--keep"], &settings).await?;
        let page = format!("{}/dashboard#/apps/demo/chats", service.url());
        while service.announcement().await? != format!("the chats are at {page}") {}
        service.ready().await?;
        let client = service.client()?;
        let stats = client.call(Method::GET, "/api/stats/demo", None).await?;
        assert_eq!(stats["events"]["starts"], 96);
        let list = "/api/chats/demo?status=failed&limit=100";
        let failed = client.call(Method::GET, list, None).await?;
        let failed = failed["data"].as_array().context("there are no chats")?.len();
        let inbox = client.call(Method::GET, "/api/input-requests/demo", None).await?;
        let asked = inbox["data"].as_array().context("there are no questions")?.len();
        assert!(failed > 5 && asked > 5, "{failed} failed, {asked} questions");
        let told = (stats["usage"].clone(), failed, asked);
        assert_eq!(*first.get_or_insert(told.clone()), told);
        service.stop().await?;
    }
    let verified = run(&["stats", "verify"], &settings).await?;
    assert_eq!(tests::binary::told(&verified)?, "4 workflows verified, 0 differences\n");
    Ok(())
}

#[tokio::test]
async fn resume_sweep_interrupts_what_was_left_and_names_it_once() -> Result<()> {
    let database = Database::create().await?;
    let options = MongoOptions::new(database.uri(), database.name());
    let store = MongoStore::connect(&options).await?;
    let scope = Scope::service(AppId::parse(APP)?);
    let workflow = WorkflowName::parse("Generator")?;
    let new = || NewChatSession::of(workflow.clone());
    let owner = Owner::parse("worker-7")?;
    let lease = |ttl| NewLease { lease_id: None, owner: owner.clone(), ttl };

    let left = store.create_chat(&scope, new()).await?.chat_id;
    let held = store.acquire_lease(&scope, &left, lease(Lease::MIN_TTL)).await?;
    let kept = store.create_chat(&scope, new()).await?.chat_id;
    store.acquire_lease(&scope, &kept, lease(Lease::MAX_TTL)).await?;
    sleep(Lease::MIN_TTL).await;

    let settings = Settings::of(&database);
    let output = run(&["resume-sweep"], &settings).await?;
    let until = held.expires_at.to_rfc3339();
    let expected = format!("{APP}  {left}  worker-7  {until}\n");
    assert_eq!(String::from_utf8(output.stdout)?, expected);
    for (chat_id, status) in [(&left, ChatStatus::Paused), (&kept, ChatStatus::Running)] {
        let chat = store.get_chat(&scope, chat_id).await?.context("no chat")?;
        assert_eq!(chat.status, status);
    }
    assert_eq!(run(&["resume-sweep"], &settings).await?.stdout, b"");
    Ok(())
}

#[tokio::test]
async fn a_person_is_exported_and_then_erased_with_a_receipt() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    store.ping().await?;
    let settings = Settings::of(&database);
    let scope = Scope::service(AppId::parse(APP)?);
    let new = |user: &str| {
        let user_id = Some(UserId::parse(user)?);
        anyhow::Ok(NewChatSession {
            user_id,
            ..NewChatSession::of(WorkflowName::parse("Generator")?)
        })
    };
    let theirs = store.create_chat(&scope, new("alice")?).await?.chat_id;
    let held = store.create_chat(&scope, new("alice")?).await?.chat_id;
    let other = store.create_chat(&scope, new("bob")?).await?.chat_id;
    let author = Some(Author { user_id: UserId::parse("alice")?, display_name: None });
    let said = NewMessage { author, ..MessageBody::new("user", Some("Alice"), "hi").into() };
    store.append(&scope, &other, vec![said]).await?;
    store.set_hold(&Actor::command_line(), &scope.app_id, &held, Some("dispute")).await?;
    let export = run(&["export", "--app", APP, "--user", "alice"], &settings).await?.stdout;
    let exported: Vec<Value> = serde_json::Deserializer::from_slice(&export)
        .into_iter()
        .collect::<serde_json::Result<_>>()?;
    let kinds: Vec<_> = exported.iter().filter_map(|line| line["record"].as_str()).collect();
    let mut chats =
        [(&theirs, vec!["chat"]), (&held, vec!["chat"]), (&other, vec!["other_chat", "message"])];
    // The newest is first; ids that were minted later sort after.
    chats.sort();
    chats.reverse();
    let [first, second, third] = chats.map(|(_, kinds)| kinds);
    assert_eq!(kinds, [vec!["export"], first, second, third, vec!["usage", "end"]].concat());
    let end = json!({ "record": "end", "searched": 3, "chats": 3, "messages": 1 });
    assert_eq!(exported.last(), Some(&end));
    let erase = ["erase", "--app", APP, "--user", "alice"];
    let output = run(&erase, &settings).await?;
    assert_eq!(output.status.code(), Some(1), "a chat is left");
    let output = String::from_utf8(output.stdout)?;
    let lines: Vec<&str> = output.lines().collect();
    assert!(lines[0].starts_with("erased; from now on erased_"), "{output}");
    let left = format!("left, because it is under hold: {held}");
    let counts = ["       1  chats", "       1  messages", "       1  usages"];
    assert_eq!(lines[1..], [&counts[..], &[left.as_str()]].concat());
    assert_eq!(store.get_chat(&scope, &theirs).await?, None);
    let again = [&erase[..], &["--json"]].concat();
    let receipt: Value = serde_json::from_slice(&run(&again, &settings).await?.stdout)?;
    assert_eq!((&receipt["erased"], &receipt["held"]), (&json!({}), &json!([held.as_str()])));
    store.set_hold(&Actor::command_line(), &scope.app_id, &held, None).await?;
    assert_eq!(run(&erase, &settings).await?.status.code(), Some(0));
    assert_eq!(store.get_chat(&scope, &held).await?, None);
    Ok(())
}

#[tokio::test]
async fn purge_removes_what_is_due_and_says_what_it_would() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    store.ping().await?;
    let (app_id, settings) = (AppId::parse(APP)?, Settings::of(&database));
    let scope = Scope::service(app_id.clone());
    let workflow = WorkflowName::parse("Generator")?;
    let new = || NewChatSession::of(workflow.clone());
    let kept = store.create_chat(&scope, new()).await?.chat_id;
    let held = store.create_chat(&scope, new()).await?.chat_id;
    let refused = run(&["purge", "--chat", held.as_str()], &settings).await?;
    assert_eq!(refused.status.code(), Some(2), "--chat needs --app");
    store.set_hold(&Actor::command_line(), &app_id, &held, Some("dispute")).await?;
    let held = ["purge", "--app", APP, "--chat", held.as_str()];
    let refused = run(&held, &settings).await?;
    assert!(String::from_utf8(refused.stderr)?.contains("is under hold"));
    let one = store.create_chat(&scope, new()).await?.chat_id;
    let would = [&held[..4], &[one.as_str(), "--dry-run"]].concat();
    let would = run(&would, &settings).await?;
    assert_eq!(String::from_utf8(would.stdout)?, "1 chats to be purged\n");
    let refused = run(&[&held[..], &["--dry-run"]].concat(), &settings).await?;
    assert!(String::from_utf8(refused.stderr)?.contains("is under hold"));
    let purged = run(&["purge", "--app", APP, "--chat", one.as_str()], &settings).await?;
    assert_eq!(String::from_utf8(purged.stdout)?, "1 chats purged\n");
    // Nothing is due yet: a deleted chat is kept for days.
    let deleted = SessionChange::to_lifecycle(Lifecycle::Deleted);
    store.change_chat(&scope, &kept, deleted).await?;
    for app in [APP, "other"] {
        run(&["apps", "register", app], &settings).await?;
    }
    for (arguments, expected) in [
        (&["purge", "--dry-run"][..], "0 chats due\n0 chats to be archived\n0 runs of tools due\n"),
        (&["purge"], "0 chats purged\n0 chats archived\n0 runs of tools removed\n"),
        (
            &["purge", "--app", "other"],
            "0 chats purged\n0 chats archived\n0 runs of tools removed\n",
        ),
        (&["apps", "set", APP, "--deleted-days", "7"], "enabled   acme_corp  deleted_days=7\n"),
    ] {
        let output = run(arguments, &settings).await?;
        assert_eq!(String::from_utf8(output.stdout)?, expected, "{arguments:?}");
    }
    Ok(())
}

/// Makes the last activity of a chat one of eight days ago, which only a change in the database can say.
async fn leave_alone(database: &Database, chat_id: &ChatId) -> Result<chrono::DateTime<Utc>> {
    let sessions = database.raw().collection::<Document>("chat_sessions");
    let long_ago = SystemClock.now() - TimeDelta::days(8);
    let at = DateTime::from_chrono(long_ago);
    let times = doc! { "$set": { "last_updated_at": at, "active_minute": at } };
    sessions.update_one(doc! { "_id": chat_id.as_str() }, times).await?;
    Ok(long_ago)
}

#[tokio::test]
async fn a_service_archives_inactive_chats() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    store.ping().await?;
    let scope = Scope::service(AppId::parse(APP)?);
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let chat_id = store.create_chat(&scope, new).await?.chat_id;
    leave_alone(&database, &chat_id).await?;
    let settings = Settings::of(&database).with("apps.archive_after_days", 7);
    let service = Service::start(&settings).await?;
    until("the chat to be archived", async || {
        let chat = store.get_chat(&scope, &chat_id).await?.context("no chat")?;
        Ok((chat.lifecycle == Lifecycle::Archived).then_some(()))
    })
    .await?;
    service.stop().await
}

#[tokio::test]
async fn purge_archives_inactive_chats_and_says_which_it_would() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    store.ping().await?;
    let (scope, settings) = (Scope::service(AppId::parse(APP)?), Settings::of(&database));
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let old = store.create_chat(&scope, new.clone()).await?.chat_id;
    let recent = store.create_chat(&scope, new).await?.chat_id;
    let long_ago = leave_alone(&database, &old).await?;
    run(&["apps", "register", APP], &settings).await?;
    let since = long_ago.to_rfc3339();
    let listed = format!("{APP}  {old}  inactive   {since}\n");
    let none = "0 chats due\n0 chats to be archived\n0 runs of tools due\n".to_owned();
    let one = none.replace("0 chats to be", "1 chats to be");
    let set = format!("enabled   {APP}  archive_after_days=7\n");
    let done = "0 chats purged\n1 chats archived\n0 runs of tools removed\n";
    for (arguments, expected) in [
        (&["purge", "--dry-run"][..], none.clone()),
        (&["apps", "set", APP, "--archive-after-days", "7"], set),
        (&["purge", "--dry-run"], format!("{listed}{one}")),
        (&["purge"], format!("{listed}{done}")),
        (&["purge", "--dry-run"], none),
    ] {
        let output = run(arguments, &settings).await?;
        assert_eq!(String::from_utf8(output.stdout)?, expected, "{arguments:?}");
    }
    let lifecycle = async |chat_id| {
        let chat = store.get_chat(&scope, chat_id).await?.context("no chat")?;
        anyhow::Ok(chat.lifecycle)
    };
    assert_eq!(lifecycle(&old).await?, Lifecycle::Archived);
    assert_eq!(lifecycle(&recent).await?, Lifecycle::Active);
    Ok(())
}

#[tokio::test]
async fn purge_removes_old_runs_of_tools_and_says_how_many_it_would() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    store.ping().await?;
    let settings = Settings::of(&database);
    let (app_id, scope) = (AppId::parse(APP)?, Scope::service(AppId::parse(APP)?));
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let chat = store.create_chat(&scope, new.clone()).await?.chat_id;
    let held = store.create_chat(&scope, new).await?.chat_id;
    run(&["apps", "register", "other"], &settings).await?;
    let run_of = |tool: &str| NewToolRun { tool_name: tool.to_owned(), ..NewToolRun::default() };
    for chat_id in [&chat, &held] {
        store.record_tool_runs(&scope, chat_id, vec![run_of("old"); 3]).await?;
    }
    // They were recorded forty days ago, which only a change in the database can say.
    let runs = database.raw().collection::<Document>("tool_runs");
    let long_ago = DateTime::from_chrono(SystemClock.now() - TimeDelta::days(40));
    runs.update_many(doc! {}, doc! { "$set": { "recorded_at": long_ago } }).await?;
    store.record_tool_runs(&scope, &chat, vec![run_of("new")]).await?;
    store.set_hold(&Actor::command_line(), &app_id, &held, Some("dispute")).await?;
    for (arguments, expected, left) in [
        (
            &["purge", "--dry-run"][..],
            "0 chats due\n0 chats to be archived\n3 runs of tools due\n",
            7,
        ),
        (
            &["purge", "--app", "other"],
            "0 chats purged\n0 chats archived\n0 runs of tools removed\n",
            7,
        ),
        (&["purge", "--json"], "{\"purged\":0,\"archived\":0,\"tool_runs_removed\":3}\n", 4),
        (&["purge", "--dry-run"], "0 chats due\n0 chats to be archived\n0 runs of tools due\n", 4),
    ] {
        let output = run(arguments, &settings).await?;
        assert_eq!(String::from_utf8(output.stdout)?, expected, "{arguments:?}");
        assert_eq!(runs.count_documents(doc! {}).await?, left, "{arguments:?}");
    }
    Ok(())
}

#[tokio::test]
async fn tokens_are_revoked_listed_and_lifted() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let tokens = async |arguments: &[&str]| {
        let output = run(&[&["tokens"], arguments].concat(), &settings).await?;
        let said = String::from_utf8([output.stdout, output.stderr].concat())?;
        anyhow::Ok((output.status.code(), said))
    };
    let year = "2100-01-01T00:00:00Z";
    // A day longer than the token is valid.
    let of_token = "token  4f1c  every app  kept until 2100-01-02T00:00:00.000Z\n";
    let revoked = tokens(&["revoke", "--id", "4f1c", "--expires", year]).await?;
    assert_eq!(revoked, (Some(0), of_token.to_owned()));
    let of_user = "user   alice  acme_corp  kept until lifted\n";
    let user = ["--user", "alice", "--app", "acme_corp"];
    for _ in 0..2 {
        let revoked = tokens(&[&["revoke"], &user[..]].concat()).await?;
        assert_eq!(revoked, (Some(0), of_user.to_owned()));
    }
    let (code, said) =
        tokens(&["revoke", "--user", "bob \u{e9}", "--issued-before", "now"]).await?;
    assert!(
        code == Some(0) && said.starts_with("user   bob \u{e9}  every app  issued until 2"),
        "{said}"
    );
    let listed = tokens(&["list"]).await?;
    assert_eq!(listed, (Some(0), format!("{of_token}{of_user}{said}")));
    let (_, listed) = tokens(&["list", "--json"]).await?;
    let first: serde_json::Value = serde_json::from_str(listed.lines().next().context("none")?)?;
    assert_eq!((&first["kind"], &first["id"]), (&"token".into(), &"4f1c".into()));
    assert_eq!(first["expires_at"], "2100-01-02T00:00:00.000Z");

    // A revocation in one app is another one than that in every app.
    let (code, said) = tokens(&["lift", "--user", "alice"]).await?;
    assert!(code == Some(1) && said.contains("there is no such revocation"), "{said}");
    assert_eq!(tokens(&[&["lift"], &user[..]].concat()).await?, (Some(0), String::new()));
    let (_, listed) = tokens(&["list"]).await?;
    assert!(!listed.contains("alice"), "{listed}");

    for wrong in [
        &["revoke"][..],
        &["revoke", "--id", "a", "--user", "b"],
        &["revoke", "--id", "a", "--issued-before", "now"],
        &["revoke", "--user", "b", "--expires", year],
        &["revoke", "--user", "b", "--issued-before", "yesterday"],
        &["revoke", "--id", "\u{202e}a"],
    ] {
        let (code, said) = tokens(wrong).await?;
        assert_eq!(code, Some(2), "{wrong:?}: {said}");
    }
    Ok(())
}

#[tokio::test]
async fn json_is_the_same_as_in_the_api() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    client.create_chat("Generator").await?;
    let json = async |arguments: &[&str]| -> Result<Vec<Value>> {
        let output = run(&[arguments, &["--json"]].concat(), &settings).await?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {complaints}");
        let lines = String::from_utf8(output.stdout)?;
        Ok(lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?)
    };
    let api = async |path: &str| client.call(Method::GET, path, None).await;
    let registered = json(&["apps", "register", APP]).await?;
    assert_eq!(registered, [api(&format!("/api/apps/{APP}")).await?]);
    json(&["apps", "register", "globex"]).await?;
    let listed = json(&["apps", "list"]).await?;
    assert_eq!(Value::from(listed), api("/api/apps").await?["data"]);
    let shown = json(&["stats", "show", APP]).await?;
    assert_eq!(shown, [api(&format!("/api/stats/{APP}")).await?]);
    let shown = json(&["stats", "show", APP, "Generator"]).await?;
    let names = |stats: &Value| -> Vec<String> {
        stats.as_object().map(|it| it.keys().cloned().collect()).unwrap_or_default()
    };
    let of_api = api(&format!("/api/stats/{APP}/Generator")).await?;
    assert_eq!((shown.len(), names(&shown[0])), (1, names(&of_api)));
    assert!(shown[0]["chats"] == 1 && !names(&of_api).is_empty());

    let verified = json(&["stats", "verify"]).await?;
    assert_eq!(verified, [json!({ "workflows": 1, "differences": 0 })]);
    let verified = json(&["wallets", "verify"]).await?;
    assert_eq!(verified, [json!({ "wallets": 0, "differences": 0 })]);
    let upgrade = json(&["upgrade"]).await?;
    assert_eq!(upgrade, [json!({ "stored": 12, "newest": 12, "pending": [] })]);
    let findings = json(&["check"]).await?;
    assert!(findings.len() > 5, "{findings:?}");
    for finding in findings {
        assert_eq!(finding["result"], "ok", "{finding}");
        assert!(finding["check"].is_string() && finding["detail"].is_string(), "{finding}");
    }
    let created = json(&["keys", "create", "--role", "service", "--all-apps"]).await?;
    let id = created[0]["id"].as_str().context("no id")?;
    assert!(created[0]["key"].as_str().is_some_and(|key| key.contains(id)), "{created:?}");
    let revoked = json(&["keys", "revoke", id]).await?;
    assert!(revoked[0]["revoked_at"].is_string(), "{revoked:?}");
    let revoked = json(&["tokens", "revoke", "--user", "alice"]).await?;
    // The revocation of the key is listed too.
    assert!(json(&["tokens", "list"]).await?.ends_with(&revoked));
    assert!(json(&["resume-sweep"]).await?.is_empty());
    service.stop().await
}

#[tokio::test]
async fn audit_prints_the_entries_that_its_options_ask_for() -> Result<()> {
    let database = Database::create().await?;
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    let settings = Settings::of(&database);
    let (app_id, scope) = (AppId::parse(APP)?, Scope::service(AppId::parse(APP)?));
    for verb in ["register", "disable", "enable"] {
        assert!(run(&["apps", verb, APP], &settings).await?.status.success());
    }
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let chat_id = store.create_chat(&scope, new).await?.chat_id;
    for user in ["alice", "bob"] {
        store.put_member(&scope, &chat_id, &UserId::parse(user)?, MemberRole::Member).await?;
    }
    // The entries of the other runs of `reprise audit` are left out.
    let lines = async |options: &[&str]| -> Result<Vec<String>> {
        let output = run(&[&["audit"], options].concat(), &settings).await?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{options:?}: {complaints}");
        let lines = String::from_utf8(output.stdout)?;
        let is_other = |line: &&str| !line.contains("read_audit_log");
        Ok(lines.lines().filter(is_other).map(str::to_owned).collect())
    };
    let all = lines(&["--json"]).await?;
    let all: Vec<Value> =
        all.iter().map(|it| serde_json::from_str(it)).collect::<Result<_, _>>()?;
    let actions: Vec<_> = all.iter().map(|entry| entry["action"].as_str().unwrap_or("")).collect();
    let expected = ["put_member", "put_member", "enable_app", "disable_app", "register_app"];
    assert_eq!(actions, expected);
    let roles: Vec<_> = all.iter().map(|entry| entry["role"].as_str().unwrap_or("")).collect();
    assert_eq!(roles[0], "service");
    assert!(roles[2..].iter().all(|role| *role == "command_line"), "{roles:?}");
    assert!(all.iter().all(|entry| entry["network"].is_null() && entry["app_id"] == APP));

    let alice = store.get_pseudonym(Some(&app_id), &UserId::parse("alice")?).await?;
    let alice = alice.context("no key")?.to_string();
    let of_alice = lines(&["--app", APP, "--user", "alice"]).await?;
    assert_eq!(of_alice.len(), 1);
    assert!(of_alice[0].contains(&alice[..12]) && !of_alice[0].contains("alice"), "{of_alice:?}");
    assert_eq!(all[1]["subject"], alice);
    for (options, count) in [
        (&["--chat", chat_id.as_str()][..], 2),
        (&["--action", "disable_app"], 1),
        (&["--app", APP, "--action", "put_member", "--limit", "1"], 1),
        (&["--limit", "0"], 5),
        (&["--since", "2020-01-01", "--until", "2999-01-01T00:00:00Z"], 5),
        (&["--until", "2020-01-01"], 0),
        (&["--app", "other"], 0),
        (&["--app", APP, "--user", "nobody"], 0),
    ] {
        assert_eq!(lines(options).await?.len(), count, "{options:?}");
    }
    store.destroy_pseudonym(Some(&app_id), &UserId::parse("alice")?).await?;
    assert!(lines(&["--app", APP, "--user", "alice"]).await?.is_empty());
    for options in [&["--action", "drop"][..], &["--since", "yesterday"]] {
        let output = run(&[&["audit"], options].concat(), &settings).await?;
        assert_eq!(output.status.code(), Some(2), "{options:?}");
    }
    Ok(())
}

#[tokio::test]
async fn every_command_of_an_operator_is_in_the_audit_log() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let create = ["keys", "create", "--role", "user", "--user", "alice", "--all-apps"];
    let created = run(&create, &settings).await?;
    let key = String::from_utf8(created.stdout)?;
    let id = key.split('_').nth(1).context("no key")?;
    let revoke = ["tokens", "revoke", "--user", "bob", "--app", APP];
    let lift = ["tokens", "lift", "--user", "bob", "--app", APP];
    let sessions = tempfile::tempdir()?;
    let sessions = sessions.path().to_str().context("a path that is no text")?;
    for command in [
        &["apps", "register", APP][..],
        &["keys", "list"],
        &["keys", "revoke", id],
        // The second time it changes nothing.
        &["keys", "revoke", id],
        &revoke,
        &["tokens", "list"],
        &lift,
        &["apps", "list"],
        &["holds", "list", "--app", APP],
        &["stats", "rebuild", "--app", APP],
        &["search", "rebuild", "--app", APP],
        &["upgrade", "--finish"],
        &["resume-sweep"],
        &["purge"],
        &["export", "jsonl", sessions, "--app", APP],
        &["import", "jsonl", sessions, "--app", APP],
        &["audit", "--app", APP],
        // These change nothing and show no contents.
        &["stats", "verify"],
        &["wallets", "verify"],
        &["upgrade"],
        &["import", "jsonl", sessions, "--app", APP, "--dry-run"],
    ] {
        let output = run(command, &settings).await?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {complaints}");
    }
    // A read is recorded also if the chat does not exist.
    run(&["history", APP, "chat_1"], &settings).await?;
    let printed = run(&["audit", "--json", "--limit", "0"], &settings).await?;
    let entries: Vec<Value> = String::from_utf8(printed.stdout)?
        .lines()
        .map(serde_json::from_str)
        .collect::<Result<_, _>>()?;
    let found: Vec<(&str, Option<&str>)> = entries
        .iter()
        .rev()
        .map(|entry| (entry["action"].as_str().unwrap_or_default(), entry["app_id"].as_str()))
        .collect();
    let expected = [
        ("create_key", None),
        ("register_app", Some(APP)),
        ("list_keys", None),
        ("revoke_key", None),
        ("revoke_tokens", Some(APP)),
        ("list_revocations", None),
        ("lift_revocation", Some(APP)),
        ("list_apps", None),
        ("list_holds", Some(APP)),
        ("rebuild_stats", Some(APP)),
        ("rebuild_search", Some(APP)),
        ("finish_upgrade", None),
        ("sweep_leases", None),
        ("purge_chats", None),
        ("export_chats", Some(APP)),
        ("import_chats", Some(APP)),
        ("read_audit_log", Some(APP)),
        ("read_chat", Some(APP)),
        ("read_audit_log", None),
    ];
    assert_eq!(found, expected);
    assert!(entries.iter().all(|entry| entry["role"] == "command_line"), "{entries:?}");

    // Without an app, --user finds the entries that name no app.
    let of_alice = run(&["audit", "--user", "alice", "--json"], &settings).await?;
    let of_alice = String::from_utf8(of_alice.stdout)?;
    assert_eq!(of_alice.lines().count(), 2, "{of_alice}");
    assert!(of_alice.contains("create_key") && of_alice.contains("revoke_key"), "{of_alice}");
    Ok(())
}

#[tokio::test]
async fn a_command_whose_reader_has_gone_ends_quietly() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let store = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    let scope = Scope::service(AppId::parse(APP)?);
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let chat_id = store.create_chat(&scope, new).await?.chat_id;
    let hello: NewMessage = MessageBody::new("user", Some("user"), "hello").into();
    store.append(&scope, &chat_id, vec![hello]).await?;
    assert!(run(&["apps", "register", APP], &settings).await?.status.success());
    for arguments in [
        &["config", "--defaults"][..],
        &["completions", "bash"],
        &["check"],
        &["history", APP, chat_id.as_str()],
        &["export", "app", APP],
        &["export", "--app", APP, "--user", "alice"],
        &["apps", "list", "--json"],
        &["audit"],
        &["stats", "show", APP],
        &["stats", "verify"],
        &["upgrade"],
    ] {
        for format in ["text", "json"] {
            let mut command = tests::binary::command(arguments).await?;
            settings.clone().with("log.format", format).apply(&mut command);
            let (reader, writer) = std::io::pipe()?;
            drop(reader);
            let child = command.stdout(writer).stderr(Stdio::piped()).spawn()?;
            // It holds the other end of the pipe.
            drop(command);
            let output = child.wait_with_output().await?;
            let said = String::from_utf8(output.stderr)?;
            assert_eq!((output.status.code(), said.as_str()), (Some(141), ""), "{arguments:?}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn commands_refuse_an_app_of_which_there_is_nothing() -> Result<()> {
    let database = Database::create().await?;
    let folder = tempfile::tempdir()?;
    let key = Key::create(folder.path())?;
    let settings = Settings::of(&database).with("integrity.key_file", key.file.display());
    let sessions = folder.path().join("sessions");
    let sessions = sessions.to_str().context("a path that is no text")?;
    let commands = |app| {
        [
            vec!["export", "app", app],
            vec!["export", "--app", app, "--user", "alice"],
            vec!["export", "jsonl", sessions, "--app", app],
            vec!["export", "checkpoints", "--app", app],
            vec!["erase", "--app", app, "--user", "alice"],
            vec!["purge", "--app", app],
            vec!["purge", "--app", app, "--dry-run"],
            vec!["search", "rebuild", "--app", app],
            vec!["stats", "show", app],
            vec!["stats", "users", app],
            vec!["stats", "verify", "--app", app],
            vec!["stats", "rebuild", "--app", app],
            vec!["wallets", "verify", "--app", app],
            vec!["check", "--deep", "--app", app],
        ]
    };
    let client = MongoStore::connect(&MongoOptions::new(database.uri(), database.name())).await?;
    client.ping().await?;
    for command in commands("nope") {
        let output = run(&command, &settings).await?;
        let said = String::from_utf8([output.stdout, output.stderr].concat())?;
        assert_eq!(output.status.code(), Some(1), "{command:?}: {said}");
        assert!(said.contains("there is no app nope: it is not registered"), "{command:?}: {said}");
    }
    let audited = database.raw().collection::<Document>("audit_entries");
    assert_eq!(audited.count_documents(doc! {}).await?, 0);
    // An app need not be registered: one record of any kind is enough.
    let scope = Scope::service(AppId::parse("only_a_wallet")?);
    client.ensure_wallet(&scope, &UserId::parse("alice")?, 100).await?;
    let registered = run(&["apps", "register", "registered"], &settings).await?;
    assert!(registered.status.success());
    for app in ["only_a_wallet", "registered"] {
        for command in commands(app) {
            let output = run(&command, &settings).await?;
            let said = String::from_utf8([output.stdout, output.stderr].concat())?;
            assert!(output.status.success(), "{command:?}: {said}");
        }
    }
    Ok(())
}

#[tokio::test]
async fn upgrade_says_what_is_pending_and_finishes_it_once() -> Result<()> {
    let database = Database::create().await?;
    // What tells the database of an older release from a new one.
    database.raw().create_collection("chat_sessions").await?;
    let settings = Settings::of(&database);
    for (arguments, name) in [
        (&["upgrade"][..], "upgrade_pending"),
        (&["upgrade", "--finish"], "upgrade_finished"),
        (&["upgrade", "--finish"], "upgrade_finished_again"),
        (&["upgrade"], "upgrade_done"),
    ] {
        let output = run(arguments, &settings).await?;
        let complaints = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {complaints}");
        insta::assert_snapshot!(name, String::from_utf8(output.stdout)?);
    }
    Ok(())
}

#[tokio::test]
async fn upgrade_leaves_a_database_of_a_newer_release_alone() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    run(&["upgrade"], &settings).await?;
    let formats: mongodb::Collection<mongodb::bson::RawDocumentBuf> =
        database.raw().collection("store_format");
    let newer = mongodb::bson::doc! { "$set": { "format": 99_i64 } };
    formats.update_one(mongodb::bson::doc! {}, newer).await?;
    for (arguments, advice) in [
        (&["upgrade"][..], "the database is newer than this release: upgrade this process"),
        (
            &["upgrade", "--finish"],
            "has schema version 99; this release supports versions up to 12",
        ),
    ] {
        let output = run(arguments, &settings).await?;
        assert_eq!(output.status.code(), Some(1));
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said)?;
        assert!(said.contains(advice), "{said}");
    }
    Ok(())
}

#[tokio::test]
async fn the_help_says_how_it_is_used() -> Result<()> {
    let settings = Settings::at("unused", "unused");
    let commands = [
        "",
        "serve",
        "demo",
        "check",
        "config",
        "acp",
        "mcp",
        "history",
        "import",
        "export",
        "stats",
        "apps",
        "keys",
        "tokens",
        "audit",
        "wallets",
        "resume-sweep",
        "upgrade",
        "views",
    ];
    for command in commands {
        let arguments: Vec<_> =
            [command, "--help"].into_iter().filter(|it| !it.is_empty()).collect();
        let output = run(&arguments, &settings).await?;
        assert!(output.status.success());
        let name = if command.is_empty() { "reprise" } else { command };
        let help = without_dialects(String::from_utf8(output.stdout)?)?;
        insta::assert_snapshot!(format!("help_{name}"), help);
    }
    Ok(())
}

/// Replaces the names of the dialects in a help, which are all there.
fn without_dialects(help: String) -> Result<String> {
    const LABEL: &str = "The format of the messages: ";
    let Some((before, list)) = help.split_once(LABEL) else { return Ok(help) };
    // The line may be broken there.
    let (list, after) = list.split_once("[default:").context("the list has no end")?;
    let after = after.trim_start();
    let names: Vec<_> = list.split(',').map(str::trim).collect();
    assert_eq!(names, dialect::names().collect::<Vec<_>>());
    Ok(format!("{before}{LABEL}[dialects] [default: {after}"))
}

#[tokio::test]
async fn completions_and_manual_pages_cover_every_command() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let pages = directory.path().join("man1");
    let nowhere = Settings::at("mongodb://127.0.0.1:1", "nowhere");
    let wrote = run(&["man", pages.to_str().context("a path")?], &nowhere).await?;
    assert!(wrote.status.success(), "{}", String::from_utf8_lossy(&wrote.stderr));
    let page = std::fs::read_to_string(pages.join("reprise-import-ag2.1"))?;
    assert!(page.contains("Import the sessions of a log"), "{page}");
    for shell in ["bash", "zsh", "fish"] {
        let script = String::from_utf8(run(&["completions", shell], &nowhere).await?.stdout)?;
        for command in ["resume-sweep", "wallets", "ag2"] {
            assert!(script.contains(command), "{shell} does not know {command}");
        }
    }
    // bash understands what is printed, and completes with it.
    let script = directory.path().join("reprise.bash");
    std::fs::write(&script, run(&["completions", "bash"], &nowhere).await?.stdout)?;
    let complete = "source \"$1\"; COMP_WORDS=(reprise imp); COMP_CWORD=1; _reprise reprise imp reprise; echo ${COMPREPLY[@]}";
    let completed =
        std::process::Command::new("bash").args(["-c", complete, "bash"]).arg(&script).output()?;
    assert!(String::from_utf8(completed.stdout)?.trim() == "import");
    Ok(())
}
