//! Every fault of the matrix, once and briefly: see `tests::faults`.

mod acknowledgements;
mod members;
mod planted;
mod quiet;
mod services;

use anyhow::{Context, Result};
use indicatif::ProgressBar;
use tests::faults::matrix::row;
use tests::faults::report::Table;
use tests::faults::trial::{Plan, run};
use tokio::sync::Semaphore;

/// Replica sets of three run one at a time.
static SETS: Semaphore = Semaphore::const_new(1);

/// Runs a row briefly, and checks the verdict.
async fn holds(name: &str) -> Result<()> {
    let row = row(name).context("no such row")?;
    let _turn = if row.members > 1 { Some(SETS.acquire().await?) } else { None };
    let folder = tempfile::tempdir()?;
    let report = run(row, Plan::brief(1), folder.path(), &ProgressBar::hidden()).await?;
    let table = Table(std::slice::from_ref(&report)).to_string();
    if !report.is_as_expected() {
        let kept = folder.keep();
        panic!("{table}the history is in {}", kept.display());
    }
    Ok(())
}
