use std::io::{Write as _, stdout};
use std::net::SocketAddr;
use std::process::Stdio;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use persistence::Store as _;
use persistence::mongo::{MongoOptions, MongoStore};
use sysinfo::{Pid, ProcessRefreshKind, ProcessesToUpdate, System};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader, stdin};
use tokio::process::{Child, Command};

use super::Server;
use crate::measure::CpuTime;

/// The service in its own process: this program, started a second time.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) address: SocketAddr,
    child: Child,
    pid: Pid,
}

impl Process {
    pub(crate) async fn start(uri: &str, database: &str) -> Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["--serve", uri, database]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
        let mut child = command.spawn()?;
        let pid = Pid::from_u32(child.id().context("the service has ended")?);
        let lines = child.stdout.take().context("the service says nothing")?;
        let line = BufReader::new(lines).lines().next_line().await?;
        let address = line.context("the service has not started")?.parse()?;
        Ok(Self { address, child, pid })
    }

    /// Returns the resident set of the process in bytes.
    pub(crate) fn resident_bytes(&self) -> Result<u64> {
        let mut system = System::new();
        let memory = ProcessRefreshKind::nothing().with_memory();
        system.refresh_processes_specifics(ProcessesToUpdate::Some(&[self.pid]), true, memory);
        Ok(system.process(self.pid).context("the service has ended")?.memory())
    }

    pub(crate) fn cpu_time(&self) -> CpuTime {
        CpuTime::of(self.pid.as_u32())
    }

    /// Stops it and waits until it has.
    pub(crate) async fn stop(mut self) -> Result<()> {
        drop(self.child.stdin.take());
        self.child.wait().await?;
        Ok(())
    }
}

/// Runs as such a process: prints the address of the service, and serves until its standard input is closed.
pub(crate) async fn serve(uri: &str, database: &str) -> Result<()> {
    let store = MongoStore::connect(&MongoOptions::new(uri, database)).await?;
    store.ping().await?;
    let server = Server::of_process(Arc::new(store)).await?;
    writeln!(stdout(), "{}", server.address)?;
    stdin().read_to_end(&mut Vec::new()).await?;
    server.stop().await
}
