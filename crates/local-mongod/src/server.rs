//! A running replica set.

use std::path::Path;
use std::time::Duration;

use futures::future::{join_all, select_all, try_join_all};
use tokio::task::spawn_blocking;

use crate::data_dir::{DataDir, remember_port};
use crate::deadline::Deadline;
use crate::launch::Launch;
use crate::start_line::SET_NAME;
use crate::{Error, Member, Options, replica_set, resolve};

const MEMBERS: std::ops::RangeInclusive<u8> = 1..=7;

/// A replica set that lives as long as this value.
///
/// [`stop`](Self::stop) waits until it has stopped. Dropping the value, or the end of the process for
/// any reason, stops it in the background. A temporary data directory is removed with it.
#[derive(Debug)]
pub struct LocalMongod {
    uri: String,
    // Before the directory, so that mongod is asked to stop before other processes may lock it.
    members: Vec<Member>,
    data_dir: DataDir,
    start_timeout: Duration,
}

impl LocalMongod {
    /// Starts a replica set and waits until it has a primary and all its secondaries.
    ///
    /// Fetches a mongod first when there is none, see [`resolve`]. Fails with [`Error::Held`] when
    /// another process runs a server on the data directory; [`attach`](crate::attach) finds that
    /// server.
    pub async fn start(options: Options) -> Result<Self, Error> {
        if !MEMBERS.contains(&options.members) {
            return Err(Error::Members { members: options.members });
        }
        let data_dir = DataDir::open(options.data_dir.as_deref()).await?;
        let lookup = options.lookup.clone();
        let mongod =
            spawn_blocking(move || resolve(&lookup)).await.map_err(Error::Interrupted)??;

        let deadline = Deadline::after(options.start_timeout);
        let launch = Launch { options: &options, mongod: &mongod, data_dir: &data_dir, deadline };
        let members = try_join_all((0..options.members).map(|index| launch.member(index))).await?;
        let uri = uri(&members);
        let server = Self { uri, members, data_dir, start_timeout: options.start_timeout };
        match server.unite(deadline).await {
            Ok(()) => Ok(server),
            Err(error) => {
                server.stop().await;
                Err(error)
            }
        }
    }

    /// Makes the members a replica set, and publishes its URI.
    async fn unite(&self, deadline: Deadline) -> Result<(), Error> {
        replica_set::configure(&self.members, deadline).await?;
        replica_set::until_whole(&self.members, deadline).await?;
        for member in &self.members {
            remember_port(member.dbpath(), member.port())?;
        }
        tracing::info!(uri = self.uri, data_dir = %self.data_dir().display(), "mongod is running");
        self.data_dir.publish(&self.uri)
    }

    /// Connects a driver to the whole set.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// The directory that contains the members' directories.
    pub fn data_dir(&self) -> &Path {
        self.data_dir.path()
    }

    /// All members, at least one, in the order of the set's configuration.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    /// Process id of the first member while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.members[0].pid()
    }

    /// Asks each member and returns the one that is primary now, if one is.
    pub async fn primary(&self) -> Option<&Member> {
        let roles = join_all(self.members.iter().map(replica_set::role)).await;
        let mut members = self.members.iter().zip(roles);
        members
            .find(|(_, role)| *role == Some(replica_set::Role::Primary))
            .map(|(member, _)| member)
    }

    /// Kills every running member as `kill -9` does. Their data stay.
    pub async fn kill_hard(&self) -> Result<(), Error> {
        let running = self.members.iter().filter(|member| member.pid().is_some());
        try_join_all(running.map(Member::kill_hard)).await?;
        Ok(())
    }

    /// Restarts every member that has exited and waits until the set is complete.
    pub async fn restart(&self) -> Result<(), Error> {
        let ended = self.members.iter().filter(|member| member.pid().is_none());
        try_join_all(ended.map(Member::restart)).await?;
        replica_set::until_whole(&self.members, Deadline::after(self.start_timeout)).await
    }

    /// Waits until a member has ended without being stopped, and returns why.
    pub async fn ended(&self) -> Error {
        let ends = self.members.iter().map(|member| Box::pin(member.ended()));
        select_all(ends).await.0
    }

    /// Stops all members cleanly and waits until nothing is left of them.
    pub async fn stop(self) {
        join_all(self.members.into_iter().map(Member::stop)).await;
    }
}

fn uri(members: &[Member]) -> String {
    let hosts: Vec<_> = members.iter().map(Member::host).collect();
    format!("mongodb://{}/?replicaSet={SET_NAME}", hosts.join(","))
}
