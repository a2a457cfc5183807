//! What a command prints on standard output: lines for people, or JSON for programs.

use std::io::Write as _;

use serde::Serialize;

use crate::terminal::safe_json;

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
        Ok(writeln!(std::io::stdout(), "{text}")?)
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
