//! What a command prints on standard output: lines for people, or JSON for programs.

use std::io::{self, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use serde::Serialize;

use crate::terminal::safe_json;

/// The status of a command whose reader has gone: that of a program which the signal for it has ended.
pub(crate) const CLOSED_STATUS: u8 = 128 + 13;

static IS_CLOSED: AtomicBool = AtomicBool::new(false);

/// Returns whether a write has failed because the reader of standard output has gone, as `head` does after its last line.
///
/// The signal that would end the process is ignored, so that a private mongod is stopped in any case.
pub(crate) fn is_closed() -> bool {
    IS_CLOSED.load(Ordering::Relaxed)
}

/// Standard output of a command. It notes when its reader has gone.
#[derive(Debug)]
pub(crate) struct Stdout(io::Stdout);

/// Returns standard output.
pub(crate) fn stdout() -> Stdout {
    Stdout(io::stdout())
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).inspect_err(note)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().inspect_err(note)
    }
}

fn note(error: &io::Error) {
    if error.kind() == ErrorKind::BrokenPipe {
        IS_CLOSED.store(true, Ordering::Relaxed);
    }
}

/// How a command prints its result.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(crate) struct Output {
    /// Print one JSON object on each line.
    #[arg(long, global = true)]
    json: bool,
}

impl Output {
    /// Tells whether the output is for programs.
    pub(crate) fn is_json(self) -> bool {
        self.json
    }

    /// Prints a record, as one JSON object or as a text.
    pub(crate) fn print<J: Serialize>(
        self,
        object: impl FnOnce() -> J,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let text = self.line(object, text)?;
        Ok(writeln!(stdout(), "{text}")?)
    }

    /// Returns what [`print`](Self::print) prints.
    pub(crate) fn line<J: Serialize>(
        self,
        object: impl FnOnce() -> J,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<String> {
        if self.json {
            return Ok(safe_json(&serde_json::to_string(&object())?).into_owned());
        }
        Ok(text())
    }
}
