use std::fmt::{self, Display, Formatter};

use super::Report;
use crate::faults::checker::Kind;

/// Reports as a table, with the findings below.
#[derive(Debug)]
pub struct Table<'a>(pub &'a [Report]);

/// Shown findings of each kind.
const SHOWN: usize = 4;

const COLUMNS: usize = 16;
const HEADINGS: [&str; COLUMNS] = [
    "row", "fault", "load", "ops", "acked", "retried", "unknown", "p99", "slowest", "outage",
    "bound", "recovery", "live", "stale", "fired", "verdict",
];

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rows: Vec<[String; COLUMNS]> = self.0.iter().map(row).collect();
        let headings = HEADINGS.map(str::to_owned);
        let widths: [usize; COLUMNS] = std::array::from_fn(|column| {
            let cells = rows.iter().chain([&headings]).map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        });
        for row in [&headings].into_iter().chain(&rows) {
            let cells = row.iter().zip(widths).enumerate();
            let cells = cells.map(|(column, (cell, width))| match column {
                // Names are left-aligned, numbers right-aligned.
                1 | 2 | 15 => format!("{cell:<width$}"),
                _ => format!("{cell:>width$}"),
            });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        self.0.iter().try_for_each(|report| refusals(f, report))?;
        self.0.iter().filter(|report| !report.is_as_expected()).try_for_each(|it| findings(f, it))
    }
}

fn row(report: &Report) -> [String; COLUMNS] {
    let measures = &report.measures;
    let within = |measured: u64, bound: Option<u64>| {
        let is_longer = bound.is_some_and(|bound| measured > bound);
        seconds(measured) + if is_longer { "!" } else { "" }
    };
    [
        report.number.to_string(),
        report.fault.to_owned(),
        report.load.to_owned(),
        measures.operations.to_string(),
        measures.acknowledged.to_string(),
        measures.retried.to_string(),
        measures.unknown.to_string(),
        seconds(measures.p99_ms),
        seconds(measures.slowest_ms),
        within(measures.outage_ms, report.bound_ms),
        report.bound_ms.map_or_else(|| "-".to_owned(), seconds),
        seconds(measures.recovery_ms),
        within(measures.live_ms, report.live_bound_ms),
        measures.stale_reads.to_string(),
        measures.fired().to_string(),
        verdict(report),
    ]
}

fn verdict(report: &Report) -> String {
    match (report.is_as_expected(), report.planted()) {
        (true, None) => "nothing is wrong".to_owned(),
        (true, Some(kind)) => format!("found: {kind:?}"),
        (false, Some(kind)) => format!("NOT FOUND: {kind:?}"),
        (false, None) => {
            let mut kinds: Vec<Kind> = report.findings.iter().map(|it| it.kind).collect();
            kinds.sort_unstable();
            kinds.dedup();
            format!("WRONG: {kinds:?}")
        }
    }
}

/// Lists the error codes that callers got.
fn refusals(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let refused = &report.measures.refused;
    let refused: Vec<_> = refused.iter().map(|(code, count)| format!("{count} {code}")).collect();
    if refused.is_empty() {
        return Ok(());
    }
    writeln!(f, "  {}: {}", report.fault, refused.join(", "))
}

/// Shows some findings of each kind.
fn findings(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    writeln!(f, "\n{} (seed {})", report.fault, report.seed)?;
    let mut findings: Vec<_> = report.findings.iter().collect();
    findings.sort_by_key(|finding| finding.kind);
    for of_a_kind in findings.chunk_by(|one, other| one.kind == other.kind) {
        for finding in of_a_kind.iter().take(SHOWN) {
            writeln!(f, "  {finding}")?;
        }
        let more = of_a_kind.len().saturating_sub(SHOWN);
        if more > 0 {
            writeln!(f, "  … and {more} more of these")?;
        }
    }
    Ok(())
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{:02} s", milliseconds / 1_000, milliseconds % 1_000 / 10)
}
