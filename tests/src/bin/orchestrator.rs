//! Continues a chat to its end. If it is killed, another orchestrator continues from there.

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

/// Do the tasks of a workflow in a chat, with the tools they need.
///
/// Exits with 0 when everything is done, with 3 when another owner holds the lease, and with 4 when it was asked to
/// stop.
#[derive(Debug, Parser)]
struct Arguments {
    /// The URL of the service.
    url: String,
    /// The chat to continue.
    chat_id: String,
    /// The unique name of this orchestrator.
    owner: String,
    /// The seed of the tasks.
    seed: u64,
    /// The number of tasks.
    tasks: u32,
    /// The time without a renewal after which another orchestrator may take over.
    ttl_ms: u64,
    /// The file of its journal.
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
