#![doc = include_str!("../README.md")]
#![expect(clippy::cast_precision_loss, reason = "an f64 holds every count here exactly")]

mod arguments;
mod scenarios;
mod stage;

mod messages;
mod population;

mod floor;
mod http;
mod live;
mod ours;

mod measure;
mod report;

use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result};
use clap::Parser as _;
use local_mongod::{LocalMongod, Options};

use arguments::Arguments;
use report::{Machine, Played, Report};
use stage::Stage;

#[tokio::main]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let [uri, database] = &arguments.serve[..] {
        return http::serve(uri, database).await;
    }
    // Large enough for all data of a scenario, so that reads do not go to the disk.
    let options = Options { cache_size_gb: 1.0, oplog_size_mb: 2_048, ..Options::from_env() };
    let mongod = LocalMongod::start(options).await?;
    let report = play(mongod.uri(), &arguments).await;
    mongod.stop().await;
    let report = report?;
    if let Some(file) = &arguments.json {
        write_file(file, &report.json()?)?;
    }
    if let Some(file) = &arguments.markdown {
        write_file(file, &report::markdown(&report))?;
    }
    write!(std::io::stdout(), "{}", report::text(&report))?;
    Ok(())
}

/// Runs the scenarios in sequence, each with fresh databases.
async fn play(uri: &str, arguments: &Arguments) -> Result<Report> {
    let plan = arguments.plan();
    let floor = floor::Floor::connect(uri, "admin", 1).await?;
    let machine = Machine::observe(floor.server_version().await?);
    let mut scenarios = Vec::new();
    for scenario in arguments.scenarios() {
        let (name, began) = (scenario.name(), Instant::now());
        let stage = Stage::set_up(uri, &name, plan).await?;
        let findings = scenario.run(&stage).await;
        let findings = findings.with_context(|| format!("scenario {name}"))?;
        stage.strike().await?;
        let seconds = began.elapsed().as_secs();
        writeln!(std::io::stderr(), "{name}: played in {seconds} s")?;
        scenarios.push(Played { name, seconds, findings });
    }
    Ok(Report { machine, seed: plan.seed, rounds: plan.rounds, scenarios })
}

fn write_file(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}
