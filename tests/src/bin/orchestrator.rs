//! Carries a chat on to its end, unless it is killed: another one then goes on where it was.

use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result};
use clap::Parser;
use tests::orchestrator::workflow::Workflow;
use tests::orchestrator::{Orders, carry_on};
use tokio::signal::unix::{SignalKind, signal};

/// Does the tasks of a workflow in a chat, with the tools they take.
///
/// Exits with 0 when all of it is done, with 3 when somebody else carries the chat on, and with 4 when it was told to
/// stop.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the service listens.
    url: String,
    /// The chat to carry on.
    chat_id: String,
    /// A name that no other one has.
    owner: String,
    /// Decides what the tasks are.
    seed: u64,
    /// How many tasks there are.
    tasks: u32,
    /// How long it may be silent before another one takes over.
    ttl_ms: u64,
    /// What it keeps its journal in.
    journals: PathBuf,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<ExitCode> {
    let Arguments { url, chat_id, owner, seed, tasks, ttl_ms, journals } = Arguments::parse();
    let is_told_to_stop = Arc::new(AtomicBool::new(false));
    let mut terminate = signal(SignalKind::terminate())?;
    let told = Arc::clone(&is_told_to_stop);
    tokio::spawn(async move {
        terminate.recv().await;
        told.store(true, Ordering::Relaxed);
    });
    let workflow = Workflow { seed, tasks };
    let ttl = Duration::from_millis(ttl_ms);
    let named = owner.clone();
    let orders = Orders { url, chat_id, owner, workflow, ttl, journals };
    let ending = carry_on(orders, is_told_to_stop).await.context(named)?;
    Ok(ending.code().into())
}
