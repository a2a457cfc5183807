//! The credentials of the private mongod: every command finds them by the data directory.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use local_mongod::{LocalMongod, Options};
use mongodb::Client;
use mongodb::bson::doc;
use mongodb::error::ErrorKind;
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::{ChatSessions as _, Messages as _};
use records::{AppId, MessageBody, NewChatSession, Scope, WorkflowName};
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tempfile::TempDir;
use tests::binary;
use tests::client::APP;
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;
use tokio::time::{sleep, timeout};

const UNAUTHORIZED: i32 = 13;
const DATABASE: &str = "reprise";

/// Every command that uses the database of a service.
const COMMANDS: [&[&str]; 11] = [
    &["check"],
    &["apps", "register", "globex"],
    &["apps", "list"],
    &["keys", "create", "--role", "service", "--app", "globex"],
    &["keys", "list"],
    &["stats", "show", APP],
    &["stats", "verify"],
    &["wallets", "verify"],
    &["resume-sweep"],
    &["upgrade"],
    &["upgrade", "--finish"],
];

#[tokio::test]
async fn every_command_finds_the_credentials_by_the_data_directory() -> Result<()> {
    let data_dir = tempfile::tempdir()?;
    let service = Service::start(&Settings::embedded(data_dir.path())).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.append(&[json!({ "role": "user", "content": "hello" })]).await?;
    let history = ["history", APP, chat.id()];
    let commands = COMMANDS.into_iter().chain([&history[..]]);

    for arguments in commands.clone() {
        is_done(&on(data_dir.path(), arguments).await?, &format!("{arguments:?} beside a service"));
    }
    let live = service.client()?.call(reqwest::Method::GET, "/api/health/ready", None).await?;
    assert_eq!(live["checks"]["live"], "change_stream", "{live}");
    service.stop().await?;
    for arguments in commands {
        is_done(&on(data_dir.path(), arguments).await?, &format!("{arguments:?} alone"));
    }
    is_done(&on(data_dir.path(), &["demo", "--pace-ms", "1"]).await?, "demo");
    Ok(())
}

#[tokio::test]
async fn the_mongod_of_a_service_refuses_strangers_and_no_output_tells_the_password() -> Result<()>
{
    let data_dir = tempfile::tempdir()?;
    let settings = Settings::embedded(data_dir.path()).with("log.filter", "trace");
    let mut service = Service::start(&settings).await?;
    assert_eq!(code_of_a_read(data_dir.path()).await?, Some(UNAUTHORIZED));
    let file = data_dir.path().join("credentials");
    assert_eq!(fs::metadata(&file)?.permissions().mode() & 0o777, 0o600);

    let content = fs::read_to_string(&file)?;
    let mut secrets = content.lines().filter_map(|line| line.split_once(' '));
    let secrets: Vec<_> = secrets.by_ref().filter(|(key, _)| *key != "user").collect();
    ensure!(secrets.len() == 2, "a password and a key are expected");
    let second = on(data_dir.path(), &["serve", "--listen", "127.0.0.1:0"]).await?;
    let check = on(data_dir.path(), &["check"]).await?;
    let said = [second.stdout, second.stderr, check.stdout, check.stderr].concat();
    let said = String::from_utf8(said)? + &service.announcement().await? + &service.logged()?;
    let named = format!("user and password in {}", file.display());
    assert!(said.contains(&named), "{said}");
    for (what, secret) in secrets {
        ensure!(!said.contains(secret), "the {what} is in {said}");
    }
    service.stop().await
}

/// Returns everything that a command says within a few seconds; then it is killed.
async fn said_by(arguments: &[&str], settings: &Settings) -> Result<String> {
    let said = tempfile::NamedTempFile::new()?;
    let mut command = binary::command(arguments).await?;
    settings.apply(&mut command);
    let mut running = command.stdout(said.reopen()?).stderr(said.reopen()?).spawn()?;
    if timeout(Duration::from_secs(4), running.wait()).await.is_err() {
        running.kill().await?;
    }
    Ok(fs::read_to_string(said.path())?)
}

#[tokio::test]
async fn no_output_tells_the_password_of_an_external_server() -> Result<()> {
    let password = "canary%2FTr0ub4dor";
    let database = Database::create().await?;
    let place = database.uri().trim_start_matches("mongodb://");
    let uris = [
        // The server knows no such user.
        format!("mongodb://canary:{password}@{place}"),
        // No server.
        format!("mongodb://canary:{password}@127.0.0.1:9/?directConnection=true"),
        // Connection strings that cannot be read, each for another reason.
        format!("mongodb://canary:{password}@{place}&nonsense=%zz"),
        format!("mongodb://canary:{password}@:99999/"),
        "mongodb://canary:canary/Tr0ub4dor@127.0.0.1:9/".to_owned(),
        format!("mongodb//canary:{password}@127.0.0.1:9"),
        format!("mongodb+srv://canary:{password}@localhost:27017/"),
        // Passwords that are not encoded.
        "mongodb://canary:a:Tr0ub4dor@127.0.0.1:9/".to_owned(),
        "mongodb://canary:a@Tr0ub4dor@127.0.0.1:9/".to_owned(),
        "mongodb://canary:a?Tr0ub4dor@127.0.0.1:9/".to_owned(),
        "mongodb://canary:a/?authMechanism=Tr0ub4dor@127.0.0.1:9/".to_owned(),
        "mongodb://canary:a%Tr0ub4dor@127.0.0.1:9/".to_owned(),
    ];
    let commands = [
        &["check"][..],
        &["serve", "--listen", "127.0.0.1:0"],
        &["apps", "list"],
        &["stats", "show", APP],
        &["serve", "--help"],
        &["apps", "nonsense"],
    ];
    let mut wrong = Vec::new();
    for uri in &uris {
        let settings =
            Settings::at(uri, "reprise").with("log.filter", "trace").with("mongo.deadline_ms", 500);
        for arguments in commands {
            let said = said_by(arguments, &settings).await?;
            ensure!(!said.is_empty(), "{arguments:?} says nothing");
            // Whatever encodes it, the middle of the password stays the same.
            if said.to_lowercase().contains("tr0ub4dor") {
                wrong.push(format!("{arguments:?} with {uri}: {said}"));
            }
        }
    }
    ensure!(wrong.is_empty(), "the password is in what these say:\n{}", wrong.join("\n"));
    Ok(())
}

/// A service and its mongod are killed while they take over a directory of an older release.
#[tokio::test]
async fn a_kill_while_credentials_are_created_leaves_nothing_broken() -> Result<()> {
    let old = old_directory().await?;
    let moments: [(&str, &[&str], u64); 6] = [
        ("the credentials are written", &["credentials"], 0),
        ("the key is written", &["member-0", "key"], 0),
        ("mongod has started", &["member-0", "mongod.log"], 300),
        ("mongod answers", &["member-0", "mongod.log"], 700),
        ("the user may exist", &["member-0", "mongod.log"], 1_000),
        ("the service may be ready", &["member-0", "mongod.log"], 1_500),
    ];
    for (moment, place, delay_ms) in moments {
        let data_dir = copy_of(old.path()).await.context(moment)?;
        let file: PathBuf =
            [data_dir.path()].into_iter().chain(place.iter().map(Path::new)).collect();
        let settings = Settings::embedded(data_dir.path());
        let mut command = binary::command(&["serve"]).await?;
        settings.apply(&mut command);
        let mut service = command.stdout(std::process::Stdio::null()).spawn()?;
        until(moment, async || Ok(file.exists().then_some(()))).await?;
        sleep(Duration::from_millis(delay_ms)).await;
        service.kill().await?;
        end_mongod(data_dir.path()).await?;

        let service = Service::start(&settings).await.context(moment)?;
        let history = service.client()?.chat(CHAT).history("ag2").await?;
        assert_eq!(history.messages.len(), 1, "{moment}");
        assert_eq!(code_of_a_read(data_dir.path()).await?, Some(UNAUTHORIZED), "{moment}");
        service.stop().await?;
    }
    Ok(())
}

const CHAT: &str = "chat_of_an_older_release";

/// A data directory as releases without credentials left it.
async fn old_directory() -> Result<TempDir> {
    let old = tempfile::tempdir()?;
    let data_dir = Some(old.path().to_owned());
    let mongod = LocalMongod::start(Options { data_dir, ..Options::from_env() }).await?;
    let store = MongoStore::connect(&MongoOptions::new(mongod.uri(), DATABASE)).await?;
    let scope = Scope::service(AppId::parse(APP)?);
    let new = NewChatSession::of(WorkflowName::parse("Generator")?);
    let chat_id = Some(records::ChatId::parse(CHAT)?);
    let chat_id = store.create_chat(&scope, NewChatSession { chat_id, ..new }).await?.chat_id;
    let hello = MessageBody::new("user", Some("user"), "hello");
    store.append(&scope, &chat_id, vec![hello.into()]).await?;
    store.finish_tasks().await;
    mongod.stop().await;
    // The log of this run must not be mistaken for that of the next.
    fs::remove_file(old.path().join("member-0").join("mongod.log"))?;
    Ok(old)
}

async fn copy_of(directory: &Path) -> Result<TempDir> {
    let copy = tempfile::tempdir()?;
    let mut cp = tokio::process::Command::new("cp");
    let status = cp.arg("-r").arg(directory.join(".")).arg(copy.path()).status().await?;
    ensure!(status.success(), "cp failed");
    Ok(copy)
}

/// Kills the mongod of a killed service, which would otherwise stop cleanly.
async fn end_mongod(data_dir: &Path) -> Result<()> {
    let lock = fs::read_to_string(data_dir.join("member-0").join("mongod.lock"));
    let Some(pid) = lock.ok().and_then(|pid| Pid::from_raw(pid.trim().parse().ok()?)) else {
        return Ok(());
    };
    // It may have ended just now.
    let _ = kill_process(pid, Signal::KILL);
    until("mongod to end", async || Ok(test_kill_process(pid).is_err().then_some(()))).await
}

/// The code with which the mongod on a data directory refuses a client without credentials.
async fn code_of_a_read(data_dir: &Path) -> Result<Option<i32>> {
    let lock = fs::read_to_string(data_dir.join("local-mongod.lock"))?;
    let uri = lock.lines().find_map(|line| line.strip_prefix("uri ")).context("no URI")?;
    let database = Client::with_uri_str(uri).await?.database(DATABASE);
    let Err(error) = database.run_command(doc! { "find": "chat_sessions" }).await else {
        return Ok(None);
    };
    match *error.kind {
        ErrorKind::Command(ref refused) => Ok(Some(refused.code)),
        _ => Err(error.into()),
    }
}

async fn on(data_dir: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = binary::command(arguments).await?;
    Ok(command.arg("--data-dir").arg(data_dir).output().await?)
}

fn is_done(output: &Output, what: &str) {
    let complaints = String::from_utf8_lossy(&output.stderr);
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{what}: {said}\n{complaints}");
}
