//! Many writers in one chat: each message has one position, whatever breaks.

use anyhow::Result;
use local_mongod::{LocalMongod, Options};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tokio::sync::watch;

use crate::crowd::Crowd;

#[tokio::test]
async fn sixteen_writers_get_ten_thousand_dense_sequences() -> Result<()> {
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let (_at, reached) = watch::channel(service.client()?);
    let crowd = Crowd::gather(10_000, vec![reached]).await?;
    let acknowledged = crowd.write().await?;
    crowd.check(&database, &acknowledged).await?;
    service.stop().await
}

#[tokio::test]
async fn writers_of_two_services_share_a_chat() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let (one, other) = tokio::try_join!(Service::start(&settings), Service::start(&settings))?;
    let (_at_one, reached_at_one) = watch::channel(one.client()?);
    let (_at_other, reached_at_other) = watch::channel(other.client()?);
    let crowd = Crowd::gather(2_000, vec![reached_at_one, reached_at_other]).await?;
    let acknowledged = crowd.write().await?;
    crowd.check(&database, &acknowledged).await?;
    one.stop().await?;
    other.stop().await
}

#[tokio::test]
async fn what_was_acknowledged_survives_a_mongod_that_is_killed() -> Result<()> {
    const MESSAGES: usize = 10_000;
    let mongod = LocalMongod::start(Options::for_tests()).await?;
    let database = Database::on(mongod.uri()).await?;
    // A short deadline, so that the writers see the failure soon.
    let settings = Settings::of(&database).with("mongo.deadline_ms", 1_500);
    let service = Service::start(&settings).await?;
    let (_at, reached) = watch::channel(service.client()?);
    let crowd = Crowd::gather(MESSAGES, vec![reached]).await?;
    let disaster = async {
        crowd.has_written(MESSAGES / 2).await?;
        mongod.kill_hard().await?;
        crowd.is_disappointed().await?;
        Ok(mongod.restart().await?)
    };
    let (acknowledged, ()) = tokio::try_join!(crowd.write(), disaster)?;
    crowd.check(&database, &acknowledged).await?;
    service.stop().await?;
    mongod.stop().await;
    Ok(())
}

#[tokio::test]
async fn what_was_acknowledged_survives_services_that_are_killed() -> Result<()> {
    const MESSAGES: usize = 2_000;
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let mut service = Service::start(&settings).await?;
    let (at, reached) = watch::channel(service.client()?);
    let crowd = Crowd::gather(MESSAGES, vec![reached]).await?;
    let disasters = async {
        for moment in [MESSAGES / 3, 2 * MESSAGES / 3] {
            crowd.has_written(moment).await?;
            service.kill().await?;
            crowd.is_disappointed().await?;
            service = Service::start(&settings).await?;
            at.send(service.client()?)?;
        }
        Ok(service)
    };
    let (acknowledged, service) = tokio::try_join!(crowd.write(), disasters)?;
    crowd.check(&database, &acknowledged).await?;
    service.stop().await
}
