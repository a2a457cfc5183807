use std::fmt::Display;
use std::io::{Write as _, stdout};

use anyhow::Result;
use indicatif::{ProgressBar, ProgressStyle};
use local_mongod::{LocalMongod, Options};
use serde::Serialize;

/// Measures on a private mongod, under a progress bar, and prints the report: as text, or as JSON.
pub async fn reported<R: Display + Serialize>(
    json: bool,
    measure: impl AsyncFnOnce(&str, &ProgressBar) -> Result<R>,
) -> Result<R> {
    let mongod = LocalMongod::start(Options::from_env()).await?;
    let style = ProgressStyle::with_template("{elapsed} {bytes:>10} {msg}")?;
    let progress = ProgressBar::no_length().with_style(style);
    let report = measure(mongod.uri(), &progress).await;
    progress.finish_and_clear();
    mongod.stop().await;
    let report = report?;
    let mut out = stdout();
    if json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        write!(out, "{report}")?;
    }
    Ok(report)
}
