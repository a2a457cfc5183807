//! Grows chats to 100,000 messages and 200 MB on a private mongod, and reports the cost.

use std::io::Write as _;
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use indicatif::{ProgressBar, ProgressStyle};
use local_mongod::{LocalMongod, Options};
use tests::growth::{Plan, grow};

/// Grow chats, and report the cost of appends at the end compared with the beginning.
///
/// Exits with 1 if a message is missing or a document is larger than 1 MB without need.
#[derive(Debug, Parser)]
struct Arguments {
    /// Messages of 1 KB to append to one chat, one at a time.
    #[arg(long, default_value_t = 100_000, value_name = "COUNT")]
    messages: usize,
    /// The size of another chat, with messages of 100 KB.
    #[arg(long, default_value_t = 200, value_name = "MB")]
    megabytes: usize,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let Arguments { messages, megabytes } = Arguments::parse();
    let mongod = LocalMongod::start(Options::from_env()).await?;
    let style = ProgressStyle::with_template("{msg:<10} {wide_bar} {human_pos}/{human_len} {eta}")?;
    let progress = ProgressBar::no_length().with_style(style);
    let report = grow(mongod.uri(), Plan { messages, megabytes }, &progress).await;
    progress.finish_and_clear();
    mongod.stop().await;
    let report = report?;
    write!(std::io::stdout(), "{report}")?;
    let is_fine = report.too_large().next().is_none();
    Ok(if is_fine { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
