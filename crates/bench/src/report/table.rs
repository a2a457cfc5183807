use comfy_table::presets::{ASCII_MARKDOWN, UTF8_FULL_CONDENSED};
use comfy_table::{CellAlignment, Table, TableStyle};

use super::{Figure, Played, Report};
use crate::measure::{Comparison, Measure, Spread, Summary, Target};

const COLUMNS: [&str; 13] = [
    "scenario",
    "ours",
    "p50 ms",
    "p99 ms",
    "per s",
    "floor",
    "p50 ms",
    "p99 ms",
    "per s",
    "ratio (quartiles)",
    "p50 − floor",
    "target",
    "met",
];

/// The columns that hold text.
const WORDS: [usize; 4] = [0, 1, 5, 11];

/// Returns the report as a table for a terminal.
pub(crate) fn text(report: &Report) -> String {
    let table = table(report, UTF8_FULL_CONDENSED);
    format!("{table}\n{}{}\n", figures(report, "\n"), circumstances(report))
}

/// Returns the report as Markdown.
pub(crate) fn markdown(report: &Report) -> String {
    let table = table(report, ASCII_MARKDOWN);
    format!("{table}\n\n{}{}\n", figures(report, "\n\n"), circumstances(report))
}

fn table(report: &Report, style: TableStyle) -> Table {
    let mut table = Table::new();
    table.load_style(style).set_header(COLUMNS);
    for (index, column) in table.column_iter_mut().enumerate() {
        let is_word = WORDS.contains(&index);
        column.set_cell_alignment(if is_word { CellAlignment::Left } else { CellAlignment::Right });
    }
    for played in &report.scenarios {
        for comparison in &played.findings.comparisons {
            table.add_row(row(&played.name, comparison));
        }
    }
    table
}

fn row(scenario: &str, comparison: &Comparison) -> Vec<String> {
    let Comparison { measure, ours, floor, ratio, difference_ms, .. } = comparison;
    let mut row = vec![scenario.to_owned()];
    row.extend(summary(ours));
    row.extend(summary(floor));
    row.push(format!("{} {}", of(*measure), spread(ratio)));
    row.push(format!("{:+.2} ms", difference_ms.median));
    row.push(comparison.target.map_or_else(String::new, |target| goal(*measure, target)));
    row.push(match comparison.is_met() {
        None => String::new(),
        Some(true) => "yes".to_owned(),
        Some(false) => "no".to_owned(),
    });
    row
}

fn summary(summary: &Summary) -> [String; 4] {
    let Summary { name, p50_ms, p99_ms, per_second, .. } = summary;
    [name.clone(), format!("{p50_ms:.2}"), format!("{p99_ms:.2}"), format!("{per_second:.0}")]
}

fn spread(spread: &Spread) -> String {
    let Spread { median, lower_quartile, upper_quartile, .. } = spread;
    format!("{median:.2} ({lower_quartile:.2}–{upper_quartile:.2})")
}

fn of(measure: Measure) -> &'static str {
    match measure {
        Measure::Latency => "p50",
        Measure::Mean => "mean",
        Measure::Throughput => "per s",
    }
}

fn goal(measure: Measure, target: Target) -> String {
    match target {
        Target::RatioAtMost(bound) => format!("{} ≤ {bound} ×", of(measure)),
        Target::RatioAtLeast(bound) => format!("{} ≥ {bound} ×", of(measure)),
        Target::RatioSurelyBelow(bound) => format!("{} surely < {bound} ×", of(measure)),
        Target::DifferenceAtMost(bound) => format!("p50 ≤ floor + {bound} ms"),
    }
}

/// Lists the figures that are in no table, each with the given line end.
fn figures(report: &Report, end: &str) -> String {
    let figures =
        report.scenarios.iter().flat_map(|Played { name: scenario, findings, .. }| {
            findings.figures.iter().map(move |Figure { name, value, unit, at_most }| {
                let aim =
                    at_most.map_or_else(String::new, |most| format!(" (aim: ≤ {most} {unit})"));
                format!("{scenario}: {name}: {value:.2} {unit}{aim}.{end}")
            })
        });
    figures.collect()
}

/// Describes the environment of the measurements.
fn circumstances(report: &Report) -> String {
    let machine = &report.machine;
    format!(
        "{} build, mongod {}, driver {}; {}, {} × {}, {} GiB, load {:.1} before; {} rounds, seed {}. Each ratio is the \
         median of the rounds, with its quartiles.",
        machine.profile,
        machine.mongod,
        machine.driver,
        machine.os,
        machine.cpus,
        machine.cpu,
        machine.memory_gib,
        machine.load,
        report.rounds,
        report.seed,
    )
}
