//! Imports many chats on a private mongod, with a kill in the middle, and checks the database.

use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use tests::memory::{Imports, imported, reported};

/// Import many chats, kill the import halfway, begin it again, and check the database.
///
/// Fails if a message is missing or stored twice, if the import warns of anything, or if the check finds anything. Exits with
/// 1 if the import or the check needs more than 256 MB.
#[derive(Debug, Parser)]
struct Arguments {
    /// Chats to import.
    #[arg(long, default_value_t = 10_000, value_name = "COUNT")]
    chats: u64,
    /// Messages of each chat.
    #[arg(long, default_value_t = 100, value_name = "COUNT")]
    messages: u64,
    /// Report as JSON.
    #[arg(long)]
    json: bool,
}

/// The accepted peak of a resident set.
const BOUND_MB: f64 = 256.0;

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Arguments { chats, messages, json } = Arguments::parse();
    let report = reported(json, async |uri, progress| {
        imported(uri, Imports { chats, messages }, progress).await
    })
    .await?;
    let is_fine = report.import.peak_mb.max(report.check.peak_mb) <= BOUND_MB;
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
