//! A running replica set.

use std::path::Path;
use std::time::Duration;

use futures::future::{join_all, select_all, try_join_all};
use secrecy::SecretString;
use tokio::task::spawn_blocking;

use crate::credentials::Credentials;
use crate::data_dir::{DataDir, remember_port};
use crate::deadline::Deadline;
use crate::launch::Launch;
use crate::start_line::SET_NAME;
use crate::{Error, Member, Options, replica_set, resolve, user};

const MEMBERS: std::ops::RangeInclusive<u8> = 1..=7;

/// A replica set that lives as long as this value, and as long as processes use it that have
/// [attached](crate::attach) to it.
///
/// [`stop`](Self::stop) waits until it has stopped. Dropping the value, or the end of the process for
/// any reason, stops it in the background. A temporary data directory is removed with it.
#[derive(Debug)]
pub struct LocalMongod {
    uri: String,
    // Before the directory, so that mongod is asked to stop before other processes may lock it.
    members: Vec<Member>,
    data_dir: DataDir,
    credentials: Option<Credentials>,
    start_timeout: Duration,
}

impl LocalMongod {
    /// Starts a replica set and waits until it has a primary and all its secondaries.
    ///
    /// Fetches a mongod first when there is none, see [`resolve`]. Fails with [`Error::Held`] when
    /// a server runs on the data directory; [`attach`](crate::attach) finds that server.
    pub async fn start(options: Options) -> Result<Self, Error> {
        if !MEMBERS.contains(&options.members) {
            return Err(Error::Members { members: options.members });
        }
        let data_dir = DataDir::open(options.data_dir.as_deref()).await?;
        let lookup = options.lookup.clone();
        let mongod =
            spawn_blocking(move || resolve(&lookup)).await.map_err(Error::Interrupted)??;

        let credentials = options.credentials_for.as_ref().map(|_| data_dir.credentials());
        let credentials = credentials.transpose()?;
        let deadline = Deadline::after(options.start_timeout);
        let launch = Launch {
            options: &options,
            mongod: &mongod,
            data_dir: &data_dir,
            credentials: credentials.as_ref(),
            deadline,
        };
        let members = try_join_all((0..options.members).map(|index| launch.member(index))).await?;
        let uri = uri(&members);
        let start_timeout = options.start_timeout;
        let server = Self { uri, members, data_dir, credentials, start_timeout };
        match server.unite(&options, deadline).await {
            Ok(()) => Ok(server),
            Err(error) => {
                server.stop().await;
                Err(error)
            }
        }
    }

    /// Makes the members a replica set with a user, and publishes its URI.
    async fn unite(&self, options: &Options, deadline: Deadline) -> Result<(), Error> {
        replica_set::configure(&self.members, deadline).await?;
        replica_set::until_whole(&self.members, deadline).await?;
        if let (Some(credentials), Some(database)) = (&self.credentials, &options.credentials_for) {
            user::give_rights(&self.uri, credentials, database).await?;
        }
        for member in &self.members {
            remember_port(member.dbpath(), member.port())?;
        }
        let credentials = self.credentials.as_ref().and_then(Credentials::file);
        tracing::info!(
            uri = self.uri,
            credentials = credentials.map(|file| tracing::field::display(file.display())),
            data_dir = %self.data_dir().display(),
            "mongod is running"
        );
        self.data_dir.publish(&self.uri, credentials)
    }

    /// Connects a driver to the whole set; without credentials, so that it may be shown.
    pub fn uri(&self) -> &str {
        &self.uri
    }

    /// Connects a driver to the whole set, with credentials if the server requires them.
    pub fn uri_with_credentials(&self) -> SecretString {
        match &self.credentials {
            Some(credentials) => credentials.complete(&self.uri),
            None => self.uri.as_str().into(),
        }
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

    /// Stops all members cleanly and waits until nothing is left of them; leaves them running if other processes use them.
    pub async fn stop(self) {
        join_all(self.members.into_iter().map(Member::stop)).await;
    }
}

fn uri(members: &[Member]) -> String {
    let hosts: Vec<_> = members.iter().map(Member::host).collect();
    format!("mongodb://{}/?replicaSet={SET_NAME}", hosts.join(","))
}
