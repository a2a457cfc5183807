use std::fmt::{self, Display, Formatter};

use super::Report;

/// Reports as a table, and below it what is wrong.
#[derive(Debug)]
pub struct Table<'a>(pub &'a [Report]);

/// How many findings of a trial are shown.
const SHOWN: usize = 20;

impl Display for Table<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let columns = [
            "row", "fault", "load", "ops", "acked", "retried", "unknown", "p99", "outage", "bound",
            "fired",
        ];
        let [row, fault, load, operations, acked, retried, unknown, p99, outage, bound, fired] =
            columns;
        writeln!(
            f,
            "{row:>3} {fault:<26} {load:<4} {operations:>7} {acked:>7} {retried:>7} {unknown:>7} \
             {p99:>7} {outage:>8} {bound:>7} {fired:>6}  verdict"
        )?;
        for report in self.0 {
            line(f, report)?;
        }
        for report in self.0.iter().filter(|report| !report.is_as_expected) {
            writeln!(f, "\n{} (seed {})", report.fault, report.seed)?;
            for finding in report.findings.iter().take(SHOWN) {
                writeln!(f, "  {finding}")?;
            }
            let more = report.findings.len().saturating_sub(SHOWN);
            if more > 0 {
                writeln!(f, "  … and {more} more")?;
            }
        }
        Ok(())
    }
}

fn line(f: &mut Formatter<'_>, report: &Report) -> fmt::Result {
    let Report { number, fault, load, measures, .. } = report;
    let (operations, acked) = (measures.operations, measures.acknowledged);
    let (retried, unknown, p99) = (measures.retried, measures.unknown, measures.p99_ms);
    let outage = seconds(measures.outage_ms);
    let bound = report.bound_ms.map_or("–".to_owned(), seconds);
    let fired = measures.fired();
    let verdict = if report.is_as_expected { "as expected" } else { "WRONG" };
    write!(
        f,
        "{number:>3} {fault:<26} {load:<4} {operations:>7} {acked:>7} {retried:>7} {unknown:>7} \
         {p99:>4} ms {outage:>8} {bound:>7} {fired:>6}  {verdict}"
    )?;
    let refused: Vec<_> =
        measures.refused.iter().map(|(code, count)| format!("{code} {count}")).collect();
    let refused = refused.join(", ");
    if refused.is_empty() { writeln!(f) } else { writeln!(f, " ({refused})") }
}

fn seconds(milliseconds: u64) -> String {
    format!("{}.{} s", milliseconds / 1_000, milliseconds % 1_000 / 100)
}
