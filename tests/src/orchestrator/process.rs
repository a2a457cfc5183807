//! An orchestrator in its own process.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, bail};
use rustix::process::Signal;
use tempfile::NamedTempFile;
use tokio::process::{Child, Command};

use super::Orders;
use super::journal::{self, Journal, Line};
use super::stop::Ending;
use crate::signal::send;
use crate::waiting::{MAX_WAIT, until, within};

/// A running orchestrator; dropping it kills it.
#[derive(Debug)]
pub struct Process {
    child: Child,
    owner: String,
    journals: PathBuf,
    log: NamedTempFile,
}

impl Process {
    /// Starts the program.
    pub fn start(program: &Path, orders: &Orders) -> Result<Self> {
        let log = NamedTempFile::new()?;
        let mut command = Command::new(program);
        command.args([&orders.url, &orders.chat_id, &orders.owner]);
        command.arg(orders.workflow.seed.to_string()).arg(orders.workflow.tasks.to_string());
        command.arg(orders.ttl.as_millis().to_string()).arg(&orders.journals);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log.reopen()?);
        let child = command.kill_on_drop(true).spawn().context("failed to start it")?;
        Ok(Self { child, owner: orders.owner.clone(), journals: orders.journals.clone(), log })
    }

    /// Its name.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Waits until it continues the chat, or has ended.
    pub async fn carries_on(&mut self) -> Result<Option<Ending>> {
        until("an orchestrator to take over", async || {
            if let Some(ending) = self.has_ended()? {
                return Ok(Some(Some(ending)));
            }
            let lines = journal::read(&self.journals, &self.owner)?;
            let is_planned = lines.iter().any(|line| matches!(line, Line::Planned { .. }));
            Ok(is_planned.then_some(None))
        })
        .await
    }

    /// Returns how it has ended by itself, if it has.
    pub fn has_ended(&mut self) -> Result<Option<Ending>> {
        let Some(status) = self.child.try_wait()? else { return Ok(None) };
        self.ending(status.code()).map(Some)
    }

    /// Waits for its end.
    pub async fn ended(mut self) -> Result<Ending> {
        let status = within(MAX_WAIT, "an orchestrator to end", self.child.wait()).await??;
        self.ending(status.code())
    }

    /// Kills it as `kill -9` does.
    pub async fn kill(mut self) -> Result<()> {
        Ok(self.child.kill().await?)
    }

    /// Asks it to stop (SIGTERM).
    pub fn terminate(&self) -> Result<()> {
        send(&self.child, Signal::TERM)
    }

    /// Pauses it (SIGSTOP).
    pub fn pause(&self) -> Result<()> {
        send(&self.child, Signal::STOP)
    }

    /// Resumes it (SIGCONT), and leaves a mark in its journal.
    pub fn wake(&self) -> Result<()> {
        Journal::create(&self.journals, &self.owner)?.write(&Line::Woken)?;
        send(&self.child, Signal::CONT)
    }

    fn ending(&self, code: Option<i32>) -> Result<Ending> {
        let ending = Ending::ALL.into_iter().find(|ending| code == Some(ending.code().into()));
        if let Some(ending) = ending {
            return Ok(ending);
        }
        let mut log = String::new();
        self.log.reopen()?.read_to_string(&mut log)?;
        bail!("{} ended with {code:?}: {log}", self.owner)
    }
}
