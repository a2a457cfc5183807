//! `reprise serve` with a private mongod.

use std::path::Path;
use std::process::Output;

use anyhow::{Context as _, Result};
use rustix::process::{Pid, test_kill_process};
use serde_json::{Value, json};
use tests::binary;
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::until;

#[tokio::test]
async fn a_killed_service_leaves_no_mongod_behind_and_loses_nothing() -> Result<()> {
    let data_dir = tempfile::tempdir()?;
    let settings = Settings::embedded(data_dir.path());
    let mut service = Service::start(&settings).await?;
    let announced = service.announcement().await?;
    assert_eq!(announced, format!("data in {}", data_dir.path().display()));
    let chat = service.client()?.create_chat("Generator").await?;
    chat.append(&[hello()]).await?;

    let mongod = mongod_of(data_dir.path())?;
    assert!(is_running(mongod), "the lock file names no running mongod");
    service.kill().await?;
    until("mongod to follow its service", async || Ok((!is_running(mongod)).then_some(()))).await?;

    let service = Service::start(&settings).await?;
    let history = service.client()?.chat(chat.id()).history("ag2").await?;
    assert_eq!(history.messages, [in_strict_form()]);
    service.stop().await
}

#[tokio::test]
async fn a_data_directory_is_shared_with_readers_and_refused_to_a_second_service() -> Result<()> {
    let data_dir = tempfile::tempdir()?;
    let service = Service::start(&Settings::embedded(data_dir.path())).await?;
    let chat = service.client()?.create_chat("Generator").await?;
    chat.append(&[hello(), json!({ "role": "system", "content": "be brief" })]).await?;

    let second = beside(data_dir.path(), &["serve", "--listen", "127.0.0.1:0"]).await?;
    assert_eq!(second.status.code(), Some(1));
    let told = String::from_utf8(second.stderr)?;
    let holder = format!("is in use by reprise (pid {})", service.pid()?);
    assert!(told.contains(&holder), "{told} does not say that it {holder}");

    let history = beside(data_dir.path(), &["history", "acme_corp", chat.id()]).await?;
    assert!(history.status.success());
    let printed: Vec<Value> = lines(&history.stdout)?;
    assert_eq!(printed, [in_strict_form()]);
    let told = String::from_utf8(history.stderr)?;
    assert!(told.contains("left out message 1"), "{told}");

    let unknown = beside(data_dir.path(), &["history", "acme_corp", "chat_unknown"]).await?;
    assert_eq!(unknown.status.code(), Some(1));
    let told = String::from_utf8(unknown.stderr)?;
    assert!(told.contains("chat chat_unknown not found"), "{told}");
    service.stop().await
}

/// Runs a command on the data directory of a running service.
async fn beside(data_dir: &Path, arguments: &[&str]) -> Result<Output> {
    let mut command = binary::command(arguments).await?;
    Ok(command.arg("--data-dir").arg(data_dir).output().await?)
}

/// The process id in mongod's own lock file.
fn mongod_of(data_dir: &Path) -> Result<Pid> {
    let note = std::fs::read_to_string(data_dir.join("member-0").join("mongod.lock"))?;
    Pid::from_raw(note.trim().parse()?).context("mongod has not noted its process id")
}

fn is_running(process: Pid) -> bool {
    test_kill_process(process).is_ok()
}

fn lines(output: &[u8]) -> Result<Vec<Value>> {
    let lines = std::str::from_utf8(output)?.lines();
    lines.map(|line| Ok(serde_json::from_str(line)?)).collect()
}

fn hello() -> Value {
    json!({ "role": "user", "content": "hello" })
}

fn in_strict_form() -> Value {
    json!({ "role": "user", "name": "user", "content": "hello" })
}
