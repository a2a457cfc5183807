//! Many subscribers of one chat, at two services and over two transports: each sees every message once and in order,
//! whatever breaks.

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use futures::future::{join_all, try_join_all};
use mongodb::bson::doc;
use serde_json::json;
use tests::client::{CallError, Client, Event, Listening, Way};
use tests::database::Database;
use tests::faults::cluster::{Cluster, FailPoint, SERVICE, Timing};
use tests::service::Service;
use tests::settings::Settings;
use tests::waiting::within;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::crowd::{Crowd, WORKFLOW};

/// The longest time for the readers.
const READERS_PATIENCE: Duration = Duration::from_mins(15);

/// A subscriber that reads until a chat has the given number of messages, and disconnects and reconnects meanwhile.
struct Reader {
    /// The current client of each service.
    services: Vec<watch::Receiver<Client>>,
    chat_id: String,
    messages: u64,
    seen: Seen,
}

/// The messages that a reader has seen.
#[derive(Default)]
struct Seen {
    next: u64,
    id: Option<String>,
}

impl Seen {
    /// Takes an event, which must leave no gap and must not be a repeat.
    fn take(&mut self, event: &Event) -> Result<()> {
        if let Some(sequence) = event.new_sequence()? {
            ensure!(sequence == self.next, "message {sequence} came instead of {}", self.next);
            self.next += 1;
        }
        if event.id.is_some() {
            self.id.clone_from(&event.id);
        }
        Ok(())
    }
}

impl Reader {
    async fn read_all(mut self) -> Result<()> {
        sleep(Duration::from_millis(fastrand::u64(0..3_000))).await;
        while self.seen.next < self.messages {
            let service = fastrand::choice(&self.services).map(|service| service.borrow().clone());
            let Some(service) = service else { bail!("there is no service") };
            match self.read_some(&service).await {
                Ok(()) => {}
                Err(error) => match error.downcast_ref::<CallError>() {
                    Some(error) if error.may_pass() => sleep(Duration::from_millis(50)).await,
                    _ => return Err(error),
                },
            }
        }
        Ok(())
    }

    /// Reads for a while, or until the connection breaks.
    async fn read_some(&mut self, service: &Client) -> Result<()> {
        let way = if fastrand::bool() { Way::Events } else { Way::Frames };
        let (chat, after) = (service.chat(&self.chat_id), self.seen.id.as_deref());
        let mut events = Listening::begin(&chat, WORKFLOW, way, after).await?;
        for _ in 0..fastrand::u64(1..self.messages) {
            if self.seen.next == self.messages {
                break;
            }
            let Some(event) = events.next().await? else { break };
            self.seen.take(&event)?;
        }
        Ok(())
    }
}

/// Lets the given number of readers read everything that a crowd writes.
async fn read_all(
    crowd: &Crowd,
    services: &[watch::Receiver<Client>],
    messages: usize,
    readers: usize,
) -> Result<()> {
    let readers = (0..readers).map(|_| {
        let (services, chat_id) = (services.to_vec(), crowd.chat_id().to_owned());
        let reader = Reader { services, chat_id, messages: messages as u64, seen: Seen::default() };
        tokio::spawn(reader.read_all())
    });
    let read = within(READERS_PATIENCE, "the readers", join_all(readers)).await?;
    read.into_iter().try_for_each(|read| read?)
}

#[tokio::test]
async fn readers_of_two_services_see_what_both_write() -> Result<()> {
    const MESSAGES: usize = 5_000;
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let (one, other) = tokio::try_join!(Service::start(&settings), Service::start(&settings))?;
    let (_at_one, reached_at_one) = watch::channel(one.client()?);
    let (_at_other, reached_at_other) = watch::channel(other.client()?);
    let services = vec![reached_at_one, reached_at_other];
    let crowd = Crowd::gather(MESSAGES, services.clone()).await?;
    let reading = read_all(&crowd, &services, MESSAGES, 200);
    let (acknowledged, ()) = tokio::try_join!(crowd.write(), reading)?;
    crowd.check(&database, &acknowledged).await?;
    one.stop().await?;
    other.stop().await
}

/// Two hundred subscribers join at once while messages are appended, some from the middle of the chat.
#[tokio::test]
async fn readers_who_all_join_at_once_miss_nothing() -> Result<()> {
    const MESSAGES: usize = 3_000;
    let database = Database::create().await?;
    let service = Service::start(&Settings::of(&database)).await?;
    let (_reached, services) = watch::channel(service.client()?);
    let crowd = Crowd::gather(MESSAGES, vec![services.clone()]).await?;
    let joining = async {
        crowd.has_written(MESSAGES / 3).await?;
        let chat = services.borrow().chat(crowd.chat_id());
        let reads = (0..200).map(|reader| {
            let (chat, way) = (chat.clone(), [Way::Events, Way::Frames][reader % 2]);
            tokio::spawn(async move {
                let after = fastrand::usize(..MESSAGES / 3).to_string();
                let mut events = Listening::begin(&chat, WORKFLOW, way, Some(&after)).await?;
                let mut seen = Seen { next: after.parse::<u64>()? + 1, id: None };
                while seen.next < MESSAGES as u64 {
                    let Some(event) = events.next().await? else { bail!("the stream has ended") };
                    seen.take(&event)?;
                }
                anyhow::Ok(())
            })
        });
        let read = within(READERS_PATIENCE, "the readers", join_all(reads)).await?;
        read.into_iter().try_for_each(|read| read?)
    };
    let (acknowledged, ()) = tokio::try_join!(crowd.write(), joining)?;
    crowd.check(&database, &acknowledged).await?;
    service.stop().await
}

#[tokio::test]
async fn readers_miss_nothing_when_primaries_and_services_are_killed() -> Result<()> {
    read_through_disasters(3_000, 60).await
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn two_hundred_readers_miss_none_of_twenty_thousand_messages() -> Result<()> {
    read_through_disasters(20_000, 200).await
}

/// Kills the primary, and then a service, while readers read.
async fn read_through_disasters(messages: usize, readers: usize) -> Result<()> {
    let mut cluster = Cluster::start(3, 2, Timing::SHORT).await?;
    let services = cluster.reached();
    let crowd = Crowd::gather(messages, services.clone()).await?;
    let reading = read_all(&crowd, &services, messages, readers);
    let disasters = async {
        crowd.has_written(messages / 4).await?;
        cluster.primary().await?.kill_hard().await?;
        crowd.has_written(messages / 2).await?;
        cluster.set().restart().await?;
        cluster.hosts()[0].kill().await?;
        cluster.hosts()[0].start_again().await?;
        anyhow::Ok(())
    };
    let (acknowledged, (), ()) = tokio::try_join!(crowd.write(), reading, disasters)?;
    crowd.check(cluster.database(), &acknowledged).await?;
    cluster.stop().await
}

#[tokio::test]
async fn readers_miss_nothing_when_change_streams_are_lost() -> Result<()> {
    const MESSAGES: usize = 2_000;
    let cluster = Cluster::start(1, 2, Timing::SHORT).await?;
    let services = cluster.reached();
    let crowd = Crowd::gather(MESSAGES, services.clone()).await?;
    let reading = read_all(&crowd, &services, MESSAGES, 60);
    let disasters = async {
        for (turn, code) in (1..).zip([286, 136, 43, 10_334, 286]) {
            crowd.has_written(turn * MESSAGES / 6).await?;
            let data = doc! { "failCommands": ["getMore"], "appName": SERVICE, "errorCode": code };
            let primary = cluster.primary().await?;
            let point = FailPoint::set(primary, "failCommand", doc! { "times": 2 }, data).await?;
            point.met(2, Duration::from_secs(20)).await?;
            ensure!(point.off().await? == 2, "{code}");
        }
        anyhow::Ok(())
    };
    let (acknowledged, (), ()) = tokio::try_join!(crowd.write(), reading, disasters)?;
    crowd.check(cluster.database(), &acknowledged).await?;
    cluster.stop().await
}

/// Readers of one service receive the writes of another service while change streams fail.
#[tokio::test]
async fn without_change_streams_changes_are_looked_for() -> Result<()> {
    let cluster = Cluster::start(1, 2, Timing::SHORT).await?;
    let data = doc! { "failCommands": ["aggregate"], "appName": SERVICE, "errorCode": 40_573 };
    let always = doc! { "times": 1_000_000 };
    let point = FailPoint::set(cluster.primary().await?, "failCommand", always, data).await?;
    let services = cluster.reached();
    let (here, there) = (services[0].borrow().clone(), services[1].borrow().clone());
    let chat = here.create_chat("Polled").await?;
    let mut events = here.chat(chat.id()).events(None).await?;
    let mut seen = Seen::default();
    for number in 0..20 {
        let message = json!({"role": "user", "content": number});
        there.chat(chat.id()).append(&[message]).await?;
        while seen.next <= number {
            let Some(event) = events.next().await? else { bail!("the stream has ended") };
            seen.take(&event)?;
        }
    }
    let ready = here.call(reqwest::Method::GET, "/api/health/ready", None).await?;
    ensure!(ready["checks"]["live"] == "polling", "{ready}");
    ensure!(point.off().await? > 0);
    drop(events);
    cluster.stop().await
}

#[tokio::test]
async fn a_reader_notices_what_is_left_out_and_what_comes_again() -> Result<()> {
    let event = |sequence: u64| Event {
        name: "message".to_owned(),
        id: Some(sequence.to_string()),
        data: json!({ "sequence": sequence }),
    };
    for fault in [0, 2] {
        let mut seen = Seen::default();
        seen.take(&event(0))?;
        ensure!(seen.take(&event(fault)).is_err());
    }
    Ok(())
}

/// Reads on while the sockets of readers that do not read fill up.
#[tokio::test]
async fn readers_who_stop_reading_hold_nobody_up() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database).with("limits.write_timeout_ms", 1_000);
    let service = Service::start(&settings).await?;
    let client = service.client()?;
    let chat = client.create_chat("Slow").await?;
    let stalled = try_join_all((0..20).map(|_| chat.events(None))).await?;
    let mut events = chat.events(None).await?;
    let mut seen = Seen::default();
    let large = json!({"role": "user", "content": "x".repeat(200_000)});
    for batch in 1..=20 {
        chat.append(&vec![large.clone(); 5]).await?;
        while seen.next < 5 * batch {
            let Some(event) = events.next().await? else { bail!("the stream has ended") };
            seen.take(&event)?;
        }
    }
    drop((events, stalled));
    service.stop().await
}
