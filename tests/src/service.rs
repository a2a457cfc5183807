//! A service in its own process.

use std::io::Read as _;
use std::process::{ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use reqwest::Method;
use rustix::process::Signal;
use tempfile::NamedTempFile;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

use crate::binary;
use crate::client::Client;
use crate::settings::Settings;
use crate::signal::send;
use crate::waiting::{MAX_WAIT, until, within};

/// The longest time until a service listens: it may have to fetch a mongod first.
const FETCH_PATIENCE: Duration = Duration::from_mins(5);

/// A running `reprise serve`; dropping it kills it.
#[derive(Debug)]
pub struct Service {
    child: Child,
    /// Kept open: a service whose output is closed would fail to announce itself.
    announcements: Lines<BufReader<ChildStdout>>,
    url: String,
    log: NamedTempFile,
}

impl Service {
    /// Starts a service and waits until it is ready.
    pub async fn start(settings: &Settings) -> Result<Self> {
        let service = Self::start_without_store(settings).await?;
        service.ready().await?;
        Ok(service)
    }

    /// Starts a service and waits only until it listens.
    pub async fn start_without_store(settings: &Settings) -> Result<Self> {
        Self::start_by(&["serve"], settings).await
    }

    /// Starts a service by a command, and waits only until it listens.
    pub async fn start_by(command: &[&str], settings: &Settings) -> Result<Self> {
        let log = NamedTempFile::new()?;
        let mut command = binary::command(command).await?;
        settings.apply(&mut command);
        let child = command.stdout(Stdio::piped()).stderr(log.reopen()?).spawn();
        let mut child = child.context("failed to start reprise")?;
        let stdout = child.stdout.take().context("reprise has no output")?;
        let mut announcements = BufReader::new(stdout).lines();
        let first = announcements.next_line();
        let first = within(FETCH_PATIENCE, "the service to listen", first).await??;
        let Some(first) = first else {
            bail!("reprise ended before it listened: {}", read(&log)?);
        };
        let url = first.strip_prefix("listening on ").context("the first line is no address")?;
        Ok(Self { url: url.to_owned(), child, announcements, log })
    }

    /// Waits until it is ready.
    pub async fn ready(&self) -> Result<()> {
        let client = self.client()?;
        until("the service to be ready", async || {
            let ready = client.call(Method::GET, "/api/health/ready", None).await;
            Ok(ready.ok().map(drop))
        })
        .await
    }

    /// Its URL, such as `http://127.0.0.1:8080`.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// A client for it.
    pub fn client(&self) -> Result<Client> {
        Client::new(&self.url)
    }

    /// Its process id.
    pub fn pid(&self) -> Result<u32> {
        self.child.id().context("the service has ended")
    }

    /// Its next line on standard output.
    pub async fn announcement(&mut self) -> Result<String> {
        let line = within(MAX_WAIT, "an announcement", self.announcements.next_line()).await??;
        line.context("the service has closed its output")
    }

    /// Its log so far.
    pub fn logged(&self) -> Result<String> {
        read(&self.log)
    }

    /// Asks it to stop (SIGTERM), and returns at once.
    pub fn terminate(&self) -> Result<()> {
        self.signal(Signal::TERM)
    }

    /// Pauses it (SIGSTOP); its connections stay open and silent.
    pub fn pause(&self) -> Result<()> {
        self.signal(Signal::STOP)
    }

    /// Resumes it (SIGCONT).
    pub fn resume(&self) -> Result<()> {
        self.signal(Signal::CONT)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        send(&self.child, signal)
    }

    /// Waits until it has exited by itself.
    pub async fn ended(mut self) -> Result<ExitStatus> {
        Ok(within(MAX_WAIT, "the service to end", self.child.wait()).await??)
    }

    /// Stops it and waits until it has exited successfully.
    pub async fn stop(self) -> Result<()> {
        self.terminate()?;
        let status = self.ended().await?;
        ensure!(status.success(), "the service ended with {status}");
        Ok(())
    }

    /// Kills it as `kill -9` does, and waits until it is gone.
    pub async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }
}

fn read(log: &NamedTempFile) -> Result<String> {
    let mut text = String::new();
    log.reopen()?.read_to_string(&mut text)?;
    Ok(text)
}

/// Shows the log of a service when its test fails.
impl Drop for Service {
    #[expect(clippy::print_stderr, reason = "the log explains the failure of a test")]
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("the log of {}:\n{}", self.url, read(&self.log).unwrap_or_default());
        }
    }
}
