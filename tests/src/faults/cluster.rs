//! The processes of a trial: a replica set, its services, and the operations on them.

mod fail_point;
mod host;
mod links;
mod stall;

pub use fail_point::{FailPoint, command};
pub use host::Host;
pub use stall::Stall;

use std::time::Duration;

use anyhow::{Result, bail};
use futures::future::try_join_all;
use local_mongod::{LocalMongod, Member, Options, Proxy, Source};
use mongodb::bson::doc;
use tokio::sync::watch;

use crate::client::Client;
use crate::database::Database;
use crate::settings::Settings;
use crate::waiting::until;

/// The application name of the service at the server, so that a fail point hits the service only.
pub const SERVICE: &str = "reprise";

/// The deadlines of a trial.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// The deadline of a store call in the service.
    pub store_deadline: Duration,
    /// The deadline of a request in the service.
    pub request_timeout: Duration,
    /// How long clients wait for a response.
    pub client_timeout: Duration,
}

impl Timing {
    /// Short enough for a trial of some seconds to meet the deadlines.
    pub const SHORT: Self = Self {
        store_deadline: Duration::from_secs(3),
        request_timeout: Duration::from_secs(4),
        client_timeout: Duration::from_secs(12),
    };
    /// The same, with clients that switch to another service when one does not respond.
    pub const IMPATIENT: Self = Self { client_timeout: Duration::from_secs(2), ..Self::SHORT };
    /// Long enough for a slow disk, where no deadline may be missed.
    pub const LONG: Self = Self {
        store_deadline: Duration::from_secs(20),
        request_timeout: Duration::from_secs(25),
        client_timeout: Duration::from_secs(40),
    };
}

/// A replica set and its services.
#[derive(Debug)]
pub struct Cluster {
    // Before the set, so that services stop before the database.
    hosts: Vec<Host>,
    database: Database,
    /// Proxies in front of the members, to drop replies and to isolate members: for a set of one, and for
    /// faults that break links.
    proxies: Vec<Proxy>,
    set: LocalMongod,
}

/// How members and services are connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// Directly; a set of one is behind a proxy.
    Direct,
    /// Every member behind its own proxy.
    Proxied,
}

impl Cluster {
    /// Starts everything and waits until it is ready.
    pub async fn start(members: u8, services: usize, timing: Timing) -> Result<Self> {
        let options = Options { members, ..Options::for_tests() };
        Self::start_on(options, Links::Direct, services, timing).await
    }

    /// The same on a set with other options or links.
    pub async fn start_on(
        options: Options,
        links: Links,
        services: usize,
        timing: Timing,
    ) -> Result<Self> {
        let set = LocalMongod::start(options).await?;
        let (proxies, uri) = links::stand_before(&set, links).await?;
        // After the members have their final names: a client that knows older names may lose all members.
        let database = Database::on(set.uri()).await?;
        let settings = Settings::of(&database)
            .with("mongo.uri", uri)
            .with("mongo.deadline_ms", timing.store_deadline.as_millis())
            .with("limits.request_timeout_ms", timing.request_timeout.as_millis())
            // To distinguish a hanging service from a quiet chat.
            .with("limits.keep_alive_ms", timing.client_timeout.as_millis() / 4);
        let start = || Host::start(settings.clone(), timing.client_timeout);
        let hosts = try_join_all((0..services).map(|_| start())).await?;
        Ok(Self { hosts, database, proxies, set })
    }

    /// The replica set.
    pub fn set(&self) -> &LocalMongod {
        &self.set
    }

    /// The proxy between the services and a set of one.
    pub fn proxy(&self) -> Result<&Proxy> {
        match &self.proxies[..] {
            [only] => Ok(only),
            _ => bail!("there is no proxy in front of the whole set"),
        }
    }

    /// Isolates a member from all others, and from the services.
    pub fn isolate(&self, member: &Member) {
        for (other, proxy) in self.set.members().iter().zip(&self.proxies) {
            let is_itself = other.port() == member.port();
            proxy.silence(if is_itself { Source::Everyone } else { Source::Member(member.port()) });
        }
    }

    /// Ends the isolation, and returns how often data was withheld.
    pub fn join(&self) -> usize {
        self.proxies.iter().map(Proxy::speak).sum()
    }

    /// The database of the services.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// The services.
    pub fn hosts(&mut self) -> &mut [Host] {
        &mut self.hosts
    }

    /// A client of each service, which follows restarts.
    pub fn reached(&self) -> Vec<watch::Receiver<Client>> {
        self.hosts.iter().map(Host::reached).collect()
    }

    /// A client of a service at its current address.
    pub fn client(&self) -> Client {
        self.hosts[0].reached().borrow().clone()
    }

    /// Waits for a primary, and returns it.
    pub async fn primary(&self) -> Result<&Member> {
        until("a primary", async || Ok(self.set.primary().await)).await
    }

    /// The members that are not primary.
    pub async fn secondaries(&self) -> Result<Vec<&Member>> {
        let primary = self.primary().await?.port();
        Ok(self.set.members().iter().filter(|member| member.port() != primary).collect())
    }

    /// The current term, a number that grows with each election.
    pub async fn term(&self) -> Result<i64> {
        let status = command(self.primary().await?, doc! { "replSetGetStatus": 1 }).await?;
        Ok(status.get_i64("term")?)
    }

    /// Restores everything: resumes or restarts paused and stopped members and services.
    pub async fn heal(&mut self) -> Result<()> {
        self.join();
        for member in self.set.members().iter().filter(|member| member.pid().is_some()) {
            member.resume()?;
        }
        self.set.restart().await?;
        for host in &mut self.hosts {
            host.heal().await?;
        }
        Ok(())
    }

    /// Stops everything and waits until it is gone.
    pub async fn stop(self) -> Result<()> {
        for host in self.hosts {
            host.stop().await?;
        }
        self.set.stop().await;
        Ok(())
    }
}
