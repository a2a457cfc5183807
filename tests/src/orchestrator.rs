//! An orchestrator that may be killed at any moment, and the checker of its final result.
//!
//! `src/bin/orchestrator.rs` is the program; `tests/it/orchestrator.rs` kills it.

pub mod checker;
pub mod journal;
pub mod process;
mod work;
pub mod workflow;

mod lease;
mod plan;
mod stop;

pub use stop::Ending;

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;

use crate::client::Client;
use journal::{Journal, Line};
use lease::Lease;
use plan::Plan;
use stop::Stop;
use work::Worker;
use workflow::Workflow;

/// The job of an orchestrator.
#[derive(Debug)]
pub struct Orders {
    /// The URL of the service.
    pub url: String,
    /// The chat it continues.
    pub chat_id: String,
    /// Its unique name.
    pub owner: String,
    /// The tasks in the chat.
    pub workflow: Workflow,
    /// The time without a renewal after which another orchestrator may take over.
    pub ttl: Duration,
    /// The file of its journal.
    pub journals: PathBuf,
}

/// Acquires the lease of the chat, continues where the plan says, and does the remaining tasks.
///
/// Ends soon after `is_told_to_stop` is set.
pub async fn carry_on(orders: Orders, is_told_to_stop: Arc<AtomicBool>) -> Result<Ending> {
    match carry_on_unless_fenced(orders, is_told_to_stop).await {
        Ok(ending) => Ok(ending),
        Err(Stop::Fenced) => Ok(Ending::Fenced),
        Err(Stop::Failed(error)) => Err(error),
    }
}

async fn carry_on_unless_fenced(
    orders: Orders,
    is_told_to_stop: Arc<AtomicBool>,
) -> Result<Ending, Stop> {
    let Orders { url, chat_id, owner, workflow, ttl, journals } = orders;
    let client = Client::new(&url)?;
    let journal = Journal::create(&journals, &owner)?;
    let chat = client.chat(&chat_id);
    let lease = tokio::select! {
        lease = Lease::acquire(&chat, &owner, ttl) => lease?,
        () = told(&is_told_to_stop) => return Ok(Ending::Terminated),
    };
    let Some(lease) = lease else {
        return Ok(Ending::Completed);
    };
    let token = lease.token();
    journal.write(&Line::Acquired { token })?;
    // Under the lease: what is stored is final, and no other orchestrator adds to it.
    let chat = client.with_header("fencing-token", &token.to_string())?.chat(&chat_id);
    let plan = Plan::read(&chat).await?;
    let done = plan.done(&workflow)?;
    let (action, pending) = (plan.action.clone(), plan.pending());
    let last_sequence = plan.chat.last_sequence;
    journal.write(&Line::Planned { token, action, last_sequence, pending: pending.clone() })?;
    let known: HashSet<String> = pending.into_iter().collect();
    let worker = Worker { workflow, chat, journal, lease, is_told_to_stop, known };
    tokio::select! {
        ending = worker.work(plan.is_paused(), done) => ending,
        stop = worker.keep_lease() => Err(stop),
    }
}

async fn told(is_told_to_stop: &AtomicBool) {
    while !is_told_to_stop.load(Ordering::Relaxed) {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
