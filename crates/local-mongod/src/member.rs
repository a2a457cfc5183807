//! One mongod of the set.

use std::ffi::OsString;
use std::io;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mongodb::bson::doc;
use mongodb::options::{ClientOptions, Credential};
use mongodb::{Client, Database};
use tokio::net::TcpStream;

use crate::deadline::Deadline;
use crate::supervisor::{Status, Supervisor};
use crate::{Error, log, replica_set, signal};

const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);

/// One mongod, which can be killed, paused and restarted.
#[derive(Debug)]
pub struct Member {
    supervisor: Supervisor,
    port: u16,
    dbpath: PathBuf,
    credential: Option<Credential>,
    start_timeout: Duration,
}

impl Member {
    /// Its process id while it runs.
    pub fn pid(&self) -> Option<u32> {
        match self.supervisor.status() {
            Status::Running(pid) => Some(pid),
            Status::Starting
            | Status::Left
            | Status::Stopping
            | Status::Exited(_)
            | Status::Gone => None,
        }
    }

    /// Its port on 127.0.0.1, the same after a restart.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its name in the replica set, `127.0.0.1:PORT`.
    pub fn host(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// The URI of this member only, whatever its role; without credentials.
    pub fn uri(&self) -> String {
        format!("mongodb://{}/?directConnection=true", self.host())
    }

    /// The log of its current run.
    pub fn log_path(&self) -> PathBuf {
        log::path(&self.dbpath)
    }

    /// Kills it as `kill -9` does and waits until it has ended. Its data stay.
    pub async fn kill_hard(&self) -> Result<(), Error> {
        self.signal(signal::Kind::Kill)?;
        self.supervisor.exited().await;
        Ok(())
    }

    /// Asks it to stop (SIGTERM), and returns at once.
    pub fn terminate(&self) -> Result<(), Error> {
        self.signal(signal::Kind::Terminate)
    }

    /// Starts it again on its port and data, and waits until it is primary or secondary.
    ///
    /// A member that runs is stopped cleanly first.
    pub async fn restart(&self) -> Result<(), Error> {
        if self.pid().is_some() {
            self.signal(signal::Kind::Terminate)?;
            self.signal(signal::Kind::Continue)?;
            self.supervisor.exited().await;
        }
        self.supervisor.start_again().await.map_err(Error::Shell)?;
        let deadline = Deadline::after(self.start_timeout);
        self.until_it_answers(deadline).await?;
        replica_set::until_active(self, deadline).await
    }

    /// Pauses it (SIGSTOP); its connections stay open and silent.
    pub fn pause(&self) -> Result<(), Error> {
        self.signal(signal::Kind::Stop)
    }

    /// Resumes it (SIGCONT).
    pub fn resume(&self) -> Result<(), Error> {
        self.signal(signal::Kind::Continue)
    }

    fn signal(&self, kind: signal::Kind) -> Result<(), Error> {
        let port = self.port;
        let pid = self.pid().ok_or(Error::NotRunning { port })?;
        signal::send(pid, kind).map_err(|source| Error::Signal { port, source })
    }
}

/// Functions that start and stop the whole set.
impl Member {
    pub(crate) fn spawn(
        mongod: &Path,
        arguments: &[OsString],
        place: Place,
        start_timeout: Duration,
    ) -> Result<Self, Error> {
        let Place { dbpath, port, temporary, credential } = place;
        log::rotate(&dbpath);
        let supervisor = Supervisor::spawn(mongod, arguments, &dbpath, temporary);
        let supervisor = supervisor.map_err(Error::Shell)?;
        Ok(Self { supervisor, port, dbpath, credential, start_timeout })
    }

    /// Waits until this mongod, and no other on its port, answers commands.
    pub(crate) async fn until_it_answers(&self, deadline: Deadline) -> Result<(), Error> {
        loop {
            match self.supervisor.status() {
                Status::Starting | Status::Left | Status::Stopping => {}
                Status::Running(pid) => {
                    if self.serves_as(pid).await {
                        return Ok(());
                    }
                }
                Status::Exited(_) | Status::Gone => return Err(self.why_it_ended()),
            }
            deadline.pause(|| format!("mongod to answer: {}", log::tail(&self.dbpath))).await?;
        }
    }

    pub(crate) fn dbpath(&self) -> &Path {
        &self.dbpath
    }

    /// Waits until mongod has ended by itself and returns why.
    pub(crate) async fn ended(&self) -> Error {
        self.supervisor.exited().await;
        self.why_it_ended()
    }

    pub(crate) async fn stop(self) {
        self.supervisor.stop().await;
    }

    /// The `admin` database of this member, whatever its role, with the right to do everything.
    pub(crate) async fn admin(&self) -> Result<Database, Error> {
        let refused = |source| Error::command("a connection", source);
        let mut options = ClientOptions::parse(self.uri()).await.map_err(refused)?;
        options.server_selection_timeout = Some(CONNECT_TIMEOUT);
        options.connect_timeout = Some(CONNECT_TIMEOUT);
        options.credential.clone_from(&self.credential);
        let client = Client::with_options(options).map_err(refused)?;
        Ok(client.database("admin"))
    }

    /// Another process may have taken the port just before mongod could.
    async fn serves_as(&self, pid: u32) -> bool {
        if TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).await.is_err() {
            return false;
        }
        let Ok(admin) = self.admin().await else {
            return false;
        };
        let Ok(status) = admin.run_command(doc! { "serverStatus": 1 }).await else {
            return false;
        };
        status.get_i64("pid").is_ok_and(|answering| answering == i64::from(pid))
    }

    fn why_it_ended(&self) -> Error {
        match self.supervisor.status() {
            Status::Exited(status) => Error::Exited { status, log: log::tail(&self.dbpath) },
            Status::Starting
            | Status::Running(_)
            | Status::Left
            | Status::Stopping
            | Status::Gone => Error::Shell(io::Error::other("it ended before mongod did")),
        }
    }
}

/// Where a member keeps its data and listens.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) dbpath: PathBuf,
    pub(crate) port: u16,
    /// Remove the data when the member stops.
    pub(crate) temporary: bool,
    /// What the mongod requires of this process.
    pub(crate) credential: Option<Credential>,
}
