//! A set of three.

use anyhow::{Context, Result};
use local_mongod::{LocalMongod, Member, Options};

use crate::{driver, poll, taken};

#[tokio::test]
async fn three_members_elect_another_primary_when_theirs_is_killed() -> Result<()> {
    let server = LocalMongod::start(Options { members: 3, ..Options::for_tests() }).await?;
    let first = server.primary().await.context("no primary")?;
    driver::store(server.uri(), "before").await?;

    first.kill_hard().await?;
    driver::store(server.uri(), "after").await?;
    let second = server.primary().await.context("no new primary")?;
    assert_ne!(first.port(), second.port());

    server.restart().await?;
    assert_eq!(driver::stored(server.uri()).await?, ["before", "after"]);
    let pids: Vec<_> = server.members().iter().filter_map(Member::pid).collect();
    assert_eq!(pids.len(), 3);
    let data_dir = server.data_dir().to_owned();
    server.stop().await;
    assert!(!pids.into_iter().any(poll::runs));
    assert!(!data_dir.exists());
    Ok(())
}

#[tokio::test]
async fn a_paused_primary_is_replaced_and_comes_back() -> Result<()> {
    let server = LocalMongod::start(Options { members: 3, ..Options::for_tests() }).await?;
    let paused = server.primary().await.context("no primary")?;
    paused.pause()?;
    let others: Vec<_> = server.members().iter().filter(|m| m.port() != paused.port()).collect();
    let hosts: Vec<_> = others.iter().map(|member| member.host()).collect();
    let uri = format!("mongodb://{}/?replicaSet=rs0", hosts.join(","));
    driver::store(&uri, "while it was paused").await?;

    paused.resume()?;
    paused.restart().await?;
    assert_eq!(driver::stored(server.uri()).await?, ["while it was paused"]);
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn members_have_an_entry_of_the_oplog_in_common_from_the_start() -> Result<()> {
    let server = LocalMongod::start(Options { members: 3, ..Options::for_tests() }).await?;
    let mut oplogs = Vec::new();
    for member in server.members() {
        let ends = driver::oplog_ends(&format!("{}&readPreference=nearest", member.uri())).await?;
        oplogs.push(ends);
    }
    let begun = oplogs.iter().map(|(first, _)| first).max();
    let ended = oplogs.iter().map(|(_, last)| last).min();
    assert!(begun <= ended, "one would be too stale to follow another: {oplogs:?}");
    server.stop().await;
    Ok(())
}

#[tokio::test]
async fn a_set_survives_the_loss_of_all_its_ports() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let data_dir = Some(dir.path().to_owned());
    let options = Options { members: 3, data_dir, ..Options::for_tests() };
    let first = LocalMongod::start(options.clone()).await?;
    driver::store(first.uri(), "kept").await?;
    let ports: Vec<_> = first.members().iter().map(Member::port).collect();
    first.stop().await;

    ports.iter().copied().try_for_each(taken::take)?;
    let second = LocalMongod::start(options).await?;
    assert!(!second.members().iter().any(|member| ports.contains(&member.port())));
    assert_eq!(driver::stored(second.uri()).await?, ["kept"]);
    second.stop().await;
    Ok(())
}
