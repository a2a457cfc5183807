//! A data directory that outlives its server.

use std::path::Path;

use anyhow::{Context, Result, bail};
use local_mongod::{Error, LocalMongod, Options, attach, attach_to_left};
use secrecy::ExposeSecret as _;

use crate::{driver, poll, taken};

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
    assert_eq!(attached.uri().expose_secret(), server.uri());
    drop(attached);

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

#[tokio::test]
async fn a_server_stops_when_the_last_process_that_uses_it_has_left() -> Result<()> {
    let dir = tempfile::tempdir()?;
    assert!(attach_to_left(dir.path()).await?.is_none());
    let server = LocalMongod::start(on(dir.path())).await?;
    let uri = server.uri().to_owned();
    let pid = server.pid().context("no process")?;
    let first = attach(dir.path()).await?.context("no server")?;
    // Its process runs.
    assert!(attach_to_left(dir.path()).await?.is_none());
    server.stop().await;
    driver::store(&uri, "kept").await?;

    let Err(error @ Error::Held { .. }) = LocalMongod::start(on(dir.path())).await else {
        bail!("it was started twice");
    };
    assert!(error.to_string().contains(&uri), "{error}");
    let second = attach(dir.path()).await?.context("no server")?;
    assert_eq!(second.uri().expose_secret(), uri);
    let third = attach_to_left(dir.path()).await?.context("no server")?;
    drop((first, second));
    assert_eq!(driver::pid(third.uri().expose_secret()).await?, pid);
    assert_eq!(driver::stored(&uri).await?, ["kept"]);
    drop(third);
    poll::until_gone(pid).await?;

    let server = LocalMongod::start(on(dir.path())).await?;
    assert_eq!(driver::stored(server.uri()).await?, ["kept"]);
    // A process that is killed uses nothing any more.
    let pipe = dir.path().join("member-0/users");
    let mut user = std::process::Command::new("sh");
    let user = user.arg("-c").arg("exec 9>\"$0\"; read -r _").arg(pipe);
    let mut user = user.stdin(std::process::Stdio::piped()).spawn()?;
    let pid = server.pid().context("no process")?;
    user.kill()?;
    user.wait()?;
    server.stop().await;
    assert!(!poll::runs(pid));
    Ok(())
}
