//! What an orchestrator writes down outside of the database, before it does it.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// Something that an orchestrator has done or is about to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// It has the lease.
    Acquired {
        /// The token of the lease.
        token: u64,
    },
    /// It has read where to go on, and will write from now on.
    Planned {
        /// The token of its lease.
        token: u64,
        /// What the plan says is to be done.
        action: String,
        /// The counter of the chat in the plan.
        last_sequence: u64,
        /// The calls that the plan says may have run before.
        pending: Vec<String>,
    },
    /// It is about to run a tool.
    Runs {
        /// The token of its lease.
        token: u64,
        /// The call that the tool is run for.
        call_id: String,
        /// Whether the plan said that it may have run before.
        known: bool,
    },
    /// It is about to send a write.
    Sends {
        /// The token of its lease.
        token: u64,
        /// Where to.
        what: String,
    },
    /// It was paused, and runs on after another one has taken over; written by who paused it.
    Woken,
}

/// The journal of one orchestrator.
#[derive(Debug)]
pub struct Journal(PathBuf, File);

impl Journal {
    /// Begins, or goes on with, the journal of an orchestrator.
    pub fn create(folder: &Path, owner: &str) -> Result<Self> {
        let path = path(folder, owner);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| path.display().to_string())?;
        Ok(Self(path, file))
    }

    /// Adds a line; it stays whatever becomes of this process.
    pub fn write(&self, line: &Line) -> Result<()> {
        let line = format!("{}\n", serde_json::to_string(line)?);
        (&self.1).write_all(line.as_bytes()).with_context(|| self.0.display().to_string())
    }
}

/// Reads what an orchestrator has written down; nothing if it has not begun.
pub fn read(folder: &Path, owner: &str) -> Result<Vec<Line>> {
    let path = path(folder, owner);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = fs::read_to_string(&path)?;
    // A line without its end is still being written.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let lines = lines.map(|line| Ok(serde_json::from_str(line)?));
    lines.collect::<Result<_>>().with_context(|| path.display().to_string())
}

fn path(folder: &Path, owner: &str) -> PathBuf {
    folder.join(format!("{owner}.jsonl"))
}
