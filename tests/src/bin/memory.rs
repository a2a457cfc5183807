//! Measures the memory that a service needs to store and read a large chat, on a private mongod.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use tests::memory::{Plan, measure, reported};

/// Store one large chat, read it in every way, and report the resident set of the service.
///
/// Exits with 1 if that grows by more than 64 MB.
#[derive(Debug, Parser)]
struct Arguments {
    /// Size of the chat.
    #[arg(long, default_value_t = 200, value_name = "MB")]
    megabytes: usize,
    /// Report as JSON.
    #[arg(long)]
    json: bool,
}

/// The accepted growth of a service beyond its idle memory.
const BOUND_MB: f64 = 64.0;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Arguments { megabytes, json } = Arguments::parse();
    let report =
        reported(json, async |uri, progress| measure(uri, Plan { megabytes }, progress).await)
            .await?;
    let is_fine = report.growth_mb() <= BOUND_MB;
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
