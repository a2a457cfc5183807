//! Orchestrators of a chat are killed repeatedly; the next one continues by the plan, and in the end the chat is complete.

mod planted;

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use fastrand::Rng;
use serde_json::Value;
use tests::client::Chat;
use tests::database::Database;
use tests::orchestrator::checker::{Evidence, check};
use tests::orchestrator::journal::{self, Line};
use tests::orchestrator::process::Process;
use tests::orchestrator::workflow::Workflow;
use tests::orchestrator::{Ending, Orders};
use tests::service::Service;
use tests::settings::Settings;
use tokio::time::sleep;

/// The time without a renewal after which another orchestrator takes over.
const TTL: Duration = Duration::from_millis(700);

/// A blow to an orchestrator.
enum Blow {
    Kill,
    /// Paused until another one has taken over: it is then a stale writer.
    Pause,
    Terminate,
}

/// The results of the blows.
#[derive(Debug, Default)]
struct Tally {
    killed: usize,
    killed_waiting: usize,
    paused: usize,
    terminated: usize,
    /// Orchestrators that lost the lease without a blow, because the machine was busy.
    outrun: usize,
}

#[tokio::test]
async fn an_orchestrator_that_is_killed_forty_times_leaves_nothing_undone() -> Result<()> {
    strike(40, 1).await
}

#[tokio::test]
#[ignore = "takes minutes"]
async fn an_orchestrator_that_is_killed_two_hundred_times_leaves_nothing_undone() -> Result<()> {
    strike(200, fastrand::u64(..)).await
}

async fn strike(blows: usize, seed: u64) -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let services = tokio::try_join!(Service::start(&settings), Service::start(&settings))?;
    let chat = services.0.client()?.create_chat("Workflow").await?;
    let folder = tempfile::tempdir()?;
    let mut ordeal = Ordeal {
        urls: [services.0.url(), services.1.url()].map(str::to_owned),
        chat_id: chat.id().to_owned(),
        // More than can be done between the blows, so that each blow hits running work.
        workflow: Workflow { seed, tasks: u32::try_from(3 * blows)? },
        journals: folder.path(),
        random: Rng::with_seed(seed),
        started: 0,
        tally: Tally::default(),
    };
    let checked = async {
        ordeal.go_through(blows).await?;
        ordeal.check(&database, &chat).await
    };
    if let Err(error) = checked.await {
        bail!("{error:#}; seed {seed}, the journals are in {}", folder.keep().display());
    }
    services.0.stop().await?;
    services.1.stop().await
}

struct Ordeal<'a> {
    urls: [String; 2],
    chat_id: String,
    workflow: Workflow,
    journals: &'a Path,
    random: Rng,
    started: usize,
    tally: Tally,
}

impl Ordeal<'_> {
    async fn go_through(&mut self, blows: usize) -> Result<()> {
        let mut current = self.next()?;
        for _ in 0..blows {
            current = self.strike(current).await?;
        }
        loop {
            match current.ended().await? {
                Ending::Completed => return Ok(()),
                Ending::Fenced => current = self.next()?,
                Ending::Terminated => bail!("it was not asked to stop"),
            }
        }
    }

    /// Strikes the orchestrator that runs the chat or waits for it, and returns the next one.
    async fn strike(&mut self, current: Process) -> Result<Process> {
        if self.random.u8(..8) == 0 {
            sleep(Duration::from_millis(self.random.u64(..300))).await;
            let next = self.next()?;
            current.kill().await?;
            self.tally.killed_waiting += 1;
            return Ok(next);
        }
        let current = self.in_the_midst(current).await?;
        let mut next = self.next()?;
        match self.blow() {
            Blow::Kill => {
                current.kill().await?;
                self.tally.killed += 1;
            }
            Blow::Pause => {
                current.pause()?;
                while next.carries_on().await?.is_some() {
                    next = self.next()?;
                }
                current.wake()?;
                let (owner, ending) = (current.owner().to_owned(), current.ended().await?);
                ensure!(ending == Ending::Fenced, "{owner} was {ending:?} after it had slept");
                self.tally.paused += 1;
            }
            Blow::Terminate => {
                current.terminate()?;
                let ending = current.ended().await?;
                ensure!(ending != Ending::Completed, "there was too little to do");
                self.tally.terminated += 1;
            }
        }
        Ok(next)
    }

    /// Waits until an orchestrator has run the chat for a while.
    async fn in_the_midst(&mut self, mut current: Process) -> Result<Process> {
        loop {
            if current.carries_on().await?.is_none() {
                sleep(Duration::from_millis(self.random.u64(..300))).await;
            }
            match current.has_ended()? {
                None => return Ok(current),
                Some(Ending::Fenced) => self.tally.outrun += 1,
                Some(ending) => bail!("{} was {ending:?} too early", current.owner()),
            }
            current = self.next()?;
        }
    }

    fn blow(&mut self) -> Blow {
        match self.random.u8(..100) {
            ..60 => Blow::Kill,
            60..85 => Blow::Pause,
            _ => Blow::Terminate,
        }
    }

    /// Starts the next one, at the other service.
    fn next(&mut self) -> Result<Process> {
        let url = self.urls[self.started % self.urls.len()].clone();
        let owner = owner(self.started);
        self.started += 1;
        let program = Path::new(env!("CARGO_BIN_EXE_orchestrator"));
        let orders = Orders {
            url,
            chat_id: self.chat_id.clone(),
            owner,
            workflow: self.workflow,
            ttl: TTL,
            journals: self.journals.to_owned(),
        };
        Process::start(program, &orders)
    }

    async fn check(&self, database: &Database, chat: &Chat) -> Result<()> {
        let journals = (0..self.started).map(|number| journal::read(self.journals, &owner(number)));
        let journals = journals.collect::<Result<Vec<_>>>()?;
        let plan = chat.get("resume").await?;
        let points = chat.get("resume-points").await?;
        let points = points["data"].as_array().context("there is no list")?;
        let evidence = Evidence {
            workflow: self.workflow,
            messages: chat.messages().await?,
            status: text(&plan["chat"]["status"]),
            action: text(&plan["action"]),
            resume_points: points.len(),
            journals,
        };
        tell(&format!("{:?} {}", self.tally, summary(&evidence)));
        let findings: Vec<String> = check(&evidence).iter().map(ToString::to_string).collect();
        ensure!(findings.is_empty(), "{}", findings.join("\n"));
        let stored = database.stored_event_ids(chat.id()).await?;
        ensure!(stored.len() == evidence.messages.len(), "the documents tell another story");
        Ok(())
    }
}

fn owner(number: usize) -> String {
    format!("orchestrator-{number}")
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Counts of what happened, to be sure that it did.
fn summary(evidence: &Evidence) -> String {
    let Evidence { messages, journals, .. } = evidence;
    let count = |is: fn(&Line) -> bool| journals.iter().flatten().filter(|line| is(line)).count();
    let late = journals.iter().flat_map(|lines| lines.iter().skip_while(|it| **it != Line::Woken));
    let late = late.filter(|line| matches!(line, Line::Sends { .. })).count();
    format!(
        "takeovers: {}, in the midst of a call: {}, tools run: {}, run again: {}, sent by stale writers: {late}, \
         messages: {}, marked: {}",
        count(|line| matches!(line, Line::Planned { .. })),
        count(|line| matches!(line, Line::Planned { pending, .. } if !pending.is_empty())),
        count(|line| matches!(line, Line::Runs { .. })),
        count(|line| matches!(line, Line::Runs { known: true, .. })),
        messages.len(),
        messages.iter().filter(|message| message["metadata"]["rerun"] == true).count(),
    )
}

#[expect(clippy::print_stderr, reason = "what happened is part of what is shown")]
fn tell(what: &str) {
    eprintln!("{what}");
}
