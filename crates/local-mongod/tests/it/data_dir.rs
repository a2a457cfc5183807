//! A data directory that outlives its server.

use std::path::Path;

use anyhow::{Context, Result, bail};
use local_mongod::{Error, LocalMongod, Options, attach};
use secrecy::ExposeSecret as _;

use crate::{driver, taken};

fn on(data_dir: &Path) -> Options {
    Options { data_dir: Some(data_dir.to_owned()), ..Options::for_tests() }
}

#[tokio::test]
async fn data_survive_a_stop_on_the_same_port() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let first = LocalMongod::start(on(dir.path())).await?;
    driver::store(first.uri(), "kept").await?;
    let uri = first.uri().to_owned();
    first.stop().await;

    let second = LocalMongod::start(on(dir.path())).await?;
    assert_eq!(second.uri(), uri);
    assert_eq!(driver::stored(second.uri()).await?, ["kept"]);
    second.stop().await;
    assert!(dir.path().exists());
    Ok(())
}

#[tokio::test]
async fn data_survive_when_another_process_has_taken_the_port() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let first = LocalMongod::start(on(dir.path())).await?;
    driver::store(first.uri(), "kept").await?;
    let port = first.members()[0].port();
    first.stop().await;

    taken::take(port)?;
    let second = LocalMongod::start(on(dir.path())).await?;
    assert_ne!(second.members()[0].port(), port);
    assert_eq!(driver::stored(second.uri()).await?, ["kept"]);
    second.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_dropped_server_can_be_started_again_at_once_on_its_port() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let first = LocalMongod::start(on(dir.path())).await?;
    driver::store(first.uri(), "kept").await?;
    let port = Some(first.members()[0].port());
    drop(first);

    let second = LocalMongod::start(Options { port, ..on(dir.path()) }).await?;
    assert_eq!(driver::stored(second.uri()).await?, ["kept"]);
    second.stop().await;
    Ok(())
}

#[tokio::test]
async fn the_second_process_is_told_who_holds_the_directory() -> Result<()> {
    let dir = tempfile::tempdir()?;
    assert!(attach(dir.path()).await?.is_none());
    let server = LocalMongod::start(on(dir.path())).await?;
    let attached = attach(dir.path()).await?.context("no server")?;
    assert_eq!(attached.expose_secret(), server.uri());

    let second = LocalMongod::start(on(dir.path())).await;
    let Err(error @ Error::Held { .. }) = second else { bail!("got {second:?}") };
    let message = error.to_string();
    let program = std::env::current_exe()?;
    let program = program.file_name().context("no file name")?.to_string_lossy();
    let holder = format!("{program} (pid {})", std::process::id());
    assert!(message.contains(&holder), "{message}");
    assert!(message.contains(server.uri()), "{message}");

    server.stop().await;
    assert!(attach(dir.path()).await?.is_none());
    Ok(())
}

#[tokio::test]
async fn a_set_is_not_started_with_another_number_of_members() -> Result<()> {
    let dir = tempfile::tempdir()?;
    LocalMongod::start(on(dir.path())).await?.stop().await;
    let started = LocalMongod::start(Options { members: 2, ..on(dir.path()) }).await;
    assert!(matches!(started, Err(Error::SetSize { stored: 1, asked: 2 })), "{started:?}");
    Ok(())
}
