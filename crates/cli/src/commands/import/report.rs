use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::ExitCode;

use indicatif::ProgressBar;
use serde::Serialize;

use crate::output::Output;
use crate::terminal::safe_line;

/// What an import has done, and its messages on standard error.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) counts: Counts,
    pub(crate) bar: ProgressBar,
}

/// What an import has done, in numbers.
#[derive(Debug, Default, Clone, Copy, Serialize)]
pub(crate) struct Counts {
    /// Chats that were read.
    pub(crate) chats: u64,
    /// Chats that were created.
    pub(crate) created: u64,
    /// Messages that were stored.
    pub(crate) stored: u64,
    /// Messages that had been stored before.
    pub(crate) known: u64,
    /// Messages that their dialect has and that cannot be stored.
    pub(crate) messages_left_out: u64,
    /// Runs of tools that were recorded.
    pub(crate) tool_runs_stored: u64,
    /// Runs of tools that had been recorded before.
    pub(crate) tool_runs_known: u64,
    /// Calls of models that were recorded.
    pub(crate) calls_stored: u64,
    /// Calls of models that had been recorded before.
    pub(crate) calls_known: u64,
    /// Lines and sessions that are not stored as they stand in their file.
    pub(crate) warnings: u64,
    /// Lines and sessions that are not imported.
    pub(crate) errors: u64,
}

impl Report {
    pub(crate) fn new(bar: ProgressBar) -> Self {
        Self { counts: Counts::default(), bar }
    }

    /// Reports something that is not stored as it stands in its file.
    pub(crate) fn warn(&mut self, place: &str, what: impl Display) -> io::Result<()> {
        self.counts.warnings += 1;
        self.tell("warning", place, what)
    }

    /// Reports something that is not imported.
    pub(crate) fn refuse(&mut self, place: &str, what: impl Display) -> io::Result<()> {
        self.counts.errors += 1;
        self.tell("error", place, what)
    }

    fn tell(&self, kind: &str, place: &str, what: impl Display) -> io::Result<()> {
        let text = format!("{kind}: {place}: {what}");
        self.bar.suspend(|| writeln!(io::stderr(), "{}", safe_line(&text)))
    }

    /// Prints the numbers. The exit code is that of a failure if something was not imported.
    pub(crate) fn finish(&self, output: Output, is_dry_run: bool) -> anyhow::Result<ExitCode> {
        self.bar.finish_and_clear();
        let counts = self.counts;
        output.print(|| counts, || text(&counts, is_dry_run))?;
        Ok(if counts.errors == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }
}

fn text(counts: &Counts, is_dry_run: bool) -> String {
    let verb = if is_dry_run { "to be " } else { "" };
    let Counts { chats, created, stored, known, .. } = counts;
    let mut lines = vec![
        format!("{chats:>8}  chats read, {created} {verb}created"),
        format!("{stored:>8}  messages {verb}stored"),
        format!("{known:>8}  messages stored before"),
    ];
    let others = [
        (counts.messages_left_out, "messages left out"),
        (counts.warnings, "warnings"),
        (counts.errors, "errors: not imported"),
    ];
    if counts.tool_runs_stored + counts.tool_runs_known > 0 {
        lines.push(format!("{:>8}  runs of tools {verb}stored", counts.tool_runs_stored));
        lines.push(format!("{:>8}  runs of tools stored before", counts.tool_runs_known));
    }
    if counts.calls_stored + counts.calls_known > 0 {
        lines.push(format!("{:>8}  calls of models {verb}stored", counts.calls_stored));
        lines.push(format!("{:>8}  calls of models stored before", counts.calls_known));
    }
    let others = others.into_iter().filter(|(count, _)| *count > 0);
    lines.extend(others.map(|(count, what)| format!("{count:>8}  {what}")));
    lines.join("\n")
}
