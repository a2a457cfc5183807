//! A single server from start to end.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use local_mongod::{Error, LocalMongod, Options, shared_for_tests};
use mongodb::bson::doc;

use crate::{driver, poll};

#[tokio::test]
async fn a_started_server_is_primary_and_leaves_nothing_behind() -> Result<()> {
    let server = LocalMongod::start(Options::for_tests()).await?;
    let hello = driver::admin(server.uri(), doc! { "hello": 1 }).await?;
    assert!(hello.get_bool("isWritablePrimary")?);
    assert_eq!(Some(driver::pid(server.uri()).await?), server.pid());

    let (pid, data_dir) = (server.pid(), server.data_dir().to_owned());
    server.stop().await;
    assert!(!pid.is_some_and(poll::runs));
    assert!(!data_dir.exists());
    Ok(())
}

#[tokio::test]
async fn a_dropped_server_ends_in_the_background() -> Result<()> {
    let server = LocalMongod::start(Options::for_tests()).await?;
    let (pid, data_dir) = (server.pid(), server.data_dir().to_owned());
    drop(server);
    poll::until_gone(pid.unwrap_or_default()).await?;
    poll::until("the removal of its data", || !data_dir.exists()).await
}

#[tokio::test]
async fn a_killed_server_keeps_its_port_and_data() -> Result<()> {
    let server = LocalMongod::start(Options::for_tests()).await?;
    driver::store(server.uri(), "before").await?;
    let pid = server.pid();

    server.kill_hard().await?;
    assert_eq!(server.pid(), None);
    assert!(matches!(server.ended().await, Error::Exited { status: 137, .. }));
    server.restart().await?;

    assert_ne!(server.pid(), pid);
    assert_eq!(driver::stored(server.uri()).await?, ["before"]);
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_server_that_was_killed_still_leaves_nothing_behind() -> Result<()> {
    let server = LocalMongod::start(Options::for_tests()).await?;
    server.kill_hard().await?;
    let data_dir = server.data_dir().to_owned();
    assert!(data_dir.exists());
    server.stop().await;
    assert!(!data_dir.exists());
    Ok(())
}

#[tokio::test]
async fn a_mongod_that_fails_to_start_is_noticed_at_once_with_its_log() -> Result<()> {
    let begin = Instant::now();
    let extra_arguments = vec!["--no-such-option".to_owned()];
    let started = LocalMongod::start(Options { extra_arguments, ..Options::for_tests() }).await;
    let Err(Error::Exited { status, log }) = started else { bail!("got {started:?}") };
    assert_eq!(status, 2);
    assert!(log.contains("no-such-option"), "{log}");
    assert!(begin.elapsed() < Duration::from_secs(20));
    Ok(())
}

#[tokio::test]
async fn a_taken_port_is_named() -> Result<()> {
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0))?;
    let port = taken.local_addr()?.port();
    let started = LocalMongod::start(Options { port: Some(port), ..Options::for_tests() }).await;
    assert!(matches!(started, Err(Error::PortTaken { port: named }) if named == port));
    Ok(())
}

#[test]
fn tests_share_a_server_across_runtimes_until_it_has_served_many() -> Result<()> {
    let share =
        || -> Result<_> { Ok(tokio::runtime::Runtime::new()?.block_on(shared_for_tests())?) };
    let first = share()?;
    assert!(first.is_temporary());
    assert_eq!(share()?.uri(), first.uri());
    let next = loop {
        let server = share()?;
        if server.uri() != first.uri() {
            break server;
        }
    };
    // Both are there for those who still have them.
    let later = tokio::runtime::Runtime::new()?;
    for server in [&first, &next] {
        let fail_point = doc! { "configureFailPoint": "failCommand", "mode": "off" };
        later.block_on(driver::admin(server.uri(), fail_point))?;
    }
    Ok(())
}
