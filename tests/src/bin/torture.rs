//! Applies faults for a chosen time, under a workload whose history is checked.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::Parser;
use futures::{StreamExt as _, stream};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use tests::faults::fault::Force;
use tests::faults::matrix::{MATRIX, Row};
use tests::faults::report::{Report, Table};
use tests::faults::trial::{Plan, run};

/// Break processes, connections and responses under a recorded workload, and check the history.
///
/// Exits with 1 if anything is found, and keeps the histories with findings.
#[derive(Debug, Parser)]
struct Arguments {
    /// The faults, by name or row number [default: all]
    #[arg(value_name = "FAULT")]
    faults: Vec<String>,
    /// How long each fault is applied.
    #[arg(long, default_value_t = 1.0)]
    minutes: f64,
    /// The seed of all random choices; the same seed strikes in the same order.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Faults to run at the same time, each on its own processes.
    #[arg(long, default_value_t = 1)]
    parallel: usize,
    /// Write the reports to a file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Strike once and briefly, as the tests do.
    #[arg(long, conflicts_with = "minutes")]
    brief: bool,
    /// Only list the faults.
    #[arg(long)]
    list: bool,
}

#[tokio::main]
async fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if arguments.list {
        return list();
    }
    let rows = rows(&arguments.faults)?;
    let histories = tempfile::Builder::new().prefix("torture-").tempdir()?;
    let progress = MultiProgress::new();
    let trials = rows.into_iter().map(|row| tried(row, &arguments, histories.path(), &progress));
    let trials = stream::iter(trials).buffered(arguments.parallel.max(1));
    let (mut reports, mut failures) = (Vec::new(), Vec::new());
    for trial in trials.collect::<Vec<Result<Report>>>().await {
        match trial {
            Ok(report) => reports.push(report),
            Err(failure) => failures.push(failure),
        }
    }

    let mut out = std::io::stdout();
    write!(out, "{}", Table(&reports))?;
    for failure in &failures {
        writeln!(out, "\nnot tried: {failure:#}")?;
    }
    if let Some(path) = &arguments.json {
        let file = File::create(path).with_context(|| path.display().to_string())?;
        serde_json::to_writer_pretty(file, &reports)?;
    }
    if failures.is_empty() && reports.iter().all(Report::is_as_expected) {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(out, "\nthe histories are kept in {}", histories.keep().display())?;
    Ok(ExitCode::FAILURE)
}

fn list() -> Result<ExitCode> {
    for Row { number, name, what, members, load, .. } in MATRIX {
        let load = load.name;
        writeln!(std::io::stdout(), "{number:>3} {name:<26} {load} on {members}: {what}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn rows(wanted: &[String]) -> Result<Vec<&'static Row>> {
    let means = |word: &String, row: &Row| row.name == word || row.number.to_string() == *word;
    if let Some(word) = wanted.iter().find(|word| !MATRIX.iter().any(|row| means(word, row))) {
        bail!("there is no fault {word}; --list names them");
    }
    let is_wanted = |row: &&Row| wanted.is_empty() || wanted.iter().any(|word| means(word, row));
    Ok(MATRIX.iter().filter(is_wanted).collect())
}

/// Runs a row, and removes its history if nothing was found.
async fn tried(
    row: &Row,
    arguments: &Arguments,
    histories: &Path,
    progress: &MultiProgress,
) -> Result<Report> {
    let duration = Duration::from_secs_f64(arguments.minutes * 60.0);
    let full = Plan { seed: arguments.seed, force: Force::Full, duration };
    let plan = if arguments.brief { Plan::brief(arguments.seed) } else { full };
    let style = ProgressStyle::with_template("{prefix:<22} {wide_bar} {pos}/{len} s {msg:<18}")?;
    let progress = progress.add(ProgressBar::no_length().with_style(style).with_prefix(row.name));
    let folder = histories.join(row.name);
    let report = run(row, plan, &folder, &progress).await;
    progress.finish_and_clear();
    let report = report.with_context(|| format!("in {}", row.name))?;
    if report.is_as_expected() {
        std::fs::remove_dir_all(folder)?;
    }
    Ok(report)
}
