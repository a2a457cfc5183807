use std::io::Write as _;

use chrono::{DateTime, TimeDelta, Utc};
use comfy_table::{CellAlignment, Table, presets};
use persistence::mongo::MongoStore;
use persistence::{HourlyStats, Stats as _, WorkflowStats};
use records::{
    AppId, Clock as _, Counter, Histogram, Measure, MicroDollars, Rollup, SystemClock, Usage,
    WorkflowName, truncated,
};
use service::responses;

use crate::backend::{Backend, expect_app};
use crate::output::{Output, stdout};
use crate::settings::Settings;

#[derive(Debug, clap::Args)]
#[command(after_help = "Sparklines show the calls of the last 24 hours. Examples:\n  \
                        reprise stats show acme_corp\n  reprise stats show acme_corp Generator")]
pub(crate) struct Arguments {
    /// The app.
    app: AppId,
    /// One workflow, with its agents and models.
    workflow: Option<WorkflowName>,
    #[command(flatten)]
    output: Output,
}

/// Hours in a sparkline.
const HOURS: i32 = 24;

/// Shows what workflows have done.
pub(super) async fn run(arguments: &Arguments, settings: &Settings) -> anyhow::Result<()> {
    Backend::with_store(settings, async |store| print(arguments, store).await).await
}

async fn print(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<()> {
    let Arguments { app, workflow, output } = arguments;
    expect_app(store, Some(app)).await?;
    match workflow {
        _ if !output.is_json() => {
            let shown = shown(arguments, store).await?;
            Ok(write!(stdout(), "{shown}")?)
        }
        None => {
            let stats = responses::app_stats(store, app.clone()).await?;
            output.print(|| stats, String::new)
        }
        Some(workflow) => {
            let stats = responses::workflow_stats(store, app.clone(), workflow.clone()).await?;
            output.print(|| stats, String::new)
        }
    }
}

async fn shown(arguments: &Arguments, store: &MongoStore) -> anyhow::Result<String> {
    let app_id = &arguments.app;
    let last = truncated(SystemClock.now(), TimeDelta::hours(1));
    let first = last - TimeDelta::hours(1) * (HOURS - 1);
    let range = first..last + TimeDelta::hours(1);
    let hours = store.hourly_stats(app_id, arguments.workflow.as_ref(), range).await?;
    if let Some(workflow_name) = &arguments.workflow {
        let stats = store.workflow_stats(app_id, workflow_name).await?;
        return Ok(workflow(&stats, &sparkline(&hours, workflow_name, first)));
    }
    let mut table = table(&[
        "workflow",
        "running",
        "paused",
        "completed",
        "failed",
        "calls",
        "tokens",
        "cost",
        "p50",
        "p95",
        "last 24 hours",
    ]);
    for summary in store.app_stats(app_id).await? {
        let (name, total) = (&summary.workflow_name, &summary.total);
        let mut row = vec![name.to_string()];
        row.extend(chats(total));
        row.extend(usage(total));
        row.extend(durations(total.histogram(Measure::ChatDuration)));
        row.push(sparkline(&hours, name, first));
        table.add_row(row);
    }
    Ok(rendered(&table))
}

fn workflow(stats: &WorkflowStats, sparkline: &str) -> String {
    let total = &stats.total;
    let mut whole = table(&[
        "running",
        "paused",
        "completed",
        "failed",
        "calls",
        "tokens",
        "cost",
        "last 24 hours",
    ]);
    let mut row: Vec<String> = chats(total).into_iter().chain(usage(total)).collect();
    row.push(sparkline.to_owned());
    whole.add_row(row);

    let mut percentiles = table(&["", "count", "p50", "p95", "p99"]);
    for measure in Measure::ALL {
        let histogram = total.histogram(measure);
        let mut row = vec![title(measure).to_owned(), histogram.count().to_string()];
        let value = |percent| histogram.percentile(percent).map(|number| readable(measure, number));
        row.extend([50, 95, 99].map(|percent| value(percent).unwrap_or_default()));
        percentiles.add_row(row);
    }

    let mut agents = table(&["agent", "calls", "tokens", "cost", "p50", "p95"]);
    for (agent, rollup) in &stats.agents {
        agents.add_row(part(agent.as_deref(), rollup));
    }
    let mut models = table(&["model", "calls", "tokens", "cost", "p50", "p95"]);
    for (model, rollup) in &stats.models {
        models.add_row(part(model.model.as_deref(), rollup));
    }
    [whole, percentiles, agents, models].iter().map(rendered).collect::<Vec<_>>().join("\n")
}

/// Returns the row of an agent or a model.
fn part(name: Option<&str>, rollup: &Rollup) -> Vec<String> {
    let mut row = vec![name.unwrap_or("-").to_owned()];
    row.extend(usage(rollup));
    row.extend(durations(rollup.histogram(Measure::CallDuration)));
    row
}

fn chats(rollup: &Rollup) -> [String; 4] {
    let counters = [Counter::Running, Counter::Paused, Counter::Completed, Counter::Failed];
    counters.map(|counter| rollup.count(counter).to_string())
}

fn usage(rollup: &Rollup) -> [String; 3] {
    cells(&rollup.usage())
}

/// Returns the calls, tokens and cost of a usage.
pub(super) fn cells(usage: &Usage) -> [String; 3] {
    let cost = readable(Measure::CallCost, usage.cost_micros);
    [usage.calls.to_string(), usage.tokens.total.to_string(), cost]
}

fn durations(histogram: &Histogram) -> [String; 2] {
    let value = |percent| histogram.percentile(percent);
    [50, 95].map(|percent| {
        value(percent).map_or_else(String::new, |number| readable(Measure::ChatDuration, number))
    })
}

fn title(measure: Measure) -> &'static str {
    match measure {
        Measure::CallTokens => "tokens of a call",
        Measure::CallCost => "cost of a call",
        Measure::CallDuration => "duration of a call",
        Measure::ChatTokens => "tokens of a chat",
        Measure::ChatCost => "cost of a chat",
        Measure::ChatDuration => "duration of a chat",
    }
}

/// Formats a number in a readable unit.
fn readable(measure: Measure, number: u64) -> String {
    match measure {
        Measure::CallTokens | Measure::ChatTokens => number.to_string(),
        Measure::CallCost | Measure::ChatCost => format!("${}", MicroDollars::from_sum(number)),
        Measure::CallDuration | Measure::ChatDuration => {
            let (seconds, tenths) = (number / 1_000, number % 1_000 / 100);
            match seconds {
                0 => format!("{number} ms"),
                1..60 => format!("{seconds}.{tenths} s"),
                60..3_600 => format!("{} min {} s", seconds / 60, seconds % 60),
                _ => format!("{} h {} min", seconds / 3_600, seconds % 3_600 / 60),
            }
        }
    }
}

/// Draws the hourly calls of a workflow as a sparkline; the busiest hour gets the highest bar.
fn sparkline(hours: &[HourlyStats], name: &WorkflowName, first: DateTime<Utc>) -> String {
    const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let of_hour = |hour: DateTime<Utc>| {
        let found = hours.iter().find(|found| found.workflow_name == *name && found.hour == hour);
        found.map_or(0, |found| found.rollup.count(Counter::Calls))
    };
    let calls: Vec<u64> = (0..HOURS).map(|n| of_hour(first + TimeDelta::hours(1) * n)).collect();
    let highest = calls.iter().copied().max().unwrap_or(0);
    let level = |calls: u64| {
        let level = (calls * 7).div_ceil(highest.max(1));
        LEVELS[usize::try_from(level).unwrap_or(0)]
    };
    calls.into_iter().map(level).collect()
}

/// A table with a column of names, followed by columns of numbers.
pub(super) fn table(header: &[&str]) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(header);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

pub(super) fn rendered(table: &Table) -> String {
    let lines = table.to_string();
    lines.lines().fold(String::new(), |text, line| text + line.trim_end() + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_told_in_the_unit_that_people_read() {
        let durations = [0, 999, 1_000, 59_949, 60_000, 3_599_999, 7_260_000];
        let told = durations.map(|number| readable(Measure::CallDuration, number));
        assert_eq!(
            told,
            ["0 ms", "999 ms", "1.0 s", "59.9 s", "1 min 0 s", "59 min 59 s", "2 h 1 min"]
        );
        assert_eq!(readable(Measure::ChatCost, 1_234), "$0.001234");
    }

    #[test]
    fn a_sparkline_is_as_high_as_its_highest_hour() {
        let name = WorkflowName::parse("w").unwrap();
        let first = DateTime::UNIX_EPOCH;
        let hour = |n: i32, calls| {
            let mut rollup = Rollup::default();
            rollup.add(Counter::Calls, calls);
            let hour = first + TimeDelta::hours(1) * n;
            HourlyStats { workflow_name: name.clone(), hour, rollup }
        };
        let line = sparkline(&[hour(0, 7), hour(1, 1), hour(23, 70)], &name, first);
        assert_eq!(line, format!("▂▂{}█", "▁".repeat(21)));
        assert_eq!(sparkline(&[], &name, first), "▁".repeat(24));
    }
}
