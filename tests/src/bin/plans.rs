//! Measures what many large plans at once need, and what they do to other requests, on a private mongod.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use tests::memory::{PlansAtOnce, plans_at_once, reported};

/// Store one large chat, read many plans of it at once beside small requests, and report the resident set of the
/// service and the times of the small requests.
///
/// Exits with 1 if the resident set grows by more than the memory for requests and 64 MB.
#[derive(Debug, Parser)]
struct Arguments {
    /// Size of the chat.
    #[arg(long, default_value_t = 60, value_name = "MB")]
    megabytes: usize,
    /// Plans at once.
    #[arg(long, default_value_t = 20, value_name = "COUNT")]
    plans: u8,
    /// Apps whose services read them; each has its own share of the memory.
    #[arg(long, default_value_t = 5, value_name = "COUNT")]
    apps: u8,
    /// Report as JSON.
    #[arg(long)]
    json: bool,
}

/// The accepted growth: `limits.memory_bytes`, and what the allocator retains.
const BOUND_MB: f64 = 537.0 + 64.0;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Arguments { megabytes, plans, apps, json } = Arguments::parse();
    let report = reported(json, async |uri, progress| {
        plans_at_once(uri, PlansAtOnce { megabytes, plans, apps }, progress).await
    })
    .await?;
    let is_fine = report.memory.growth() <= BOUND_MB;
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
