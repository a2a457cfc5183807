//! The journal of an orchestrator: a file outside the database, written before each action.

use std::fs::{self, File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde::{Deserialize, Serialize};

/// An action that an orchestrator has done or is about to do.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "line", rename_all = "kebab-case")]
pub enum Line {
    /// It holds the lease.
    Acquired {
        /// The token of the lease.
        token: u64,
    },
    /// It has read its plan, and writes from now on.
    Planned {
        /// The fencing token of its lease.
        token: u64,
        /// The action of the plan.
        action: String,
        /// The counter of the chat in the plan.
        last_sequence: u64,
        /// The calls that may have run before, by the plan.
        pending: Vec<String>,
    },
    /// It is about to run a tool.
    Runs {
        /// The fencing token of its lease.
        token: u64,
        /// The tool call.
        call_id: String,
        /// Whether it may have run before, by the plan.
        known: bool,
    },
    /// It is about to send a write.
    Sends {
        /// The fencing token of its lease.
        token: u64,
        /// The path of the write.
        what: String,
    },
    /// It was paused and resumes after another one has taken over; written by the test.
    Woken,
}

/// The journal of one orchestrator.
#[derive(Debug)]
pub struct Journal(PathBuf, File);

impl Journal {
    /// Opens the journal of an orchestrator, or creates it.
    pub fn create(folder: &Path, owner: &str) -> Result<Self> {
        let path = path(folder, owner);
        let file = OpenOptions::new().create(true).append(true).open(&path);
        let file = file.with_context(|| path.display().to_string())?;
        Ok(Self(path, file))
    }

    /// Adds a line, which survives the death of this process.
    pub fn write(&self, line: &Line) -> Result<()> {
        let line = format!("{}\n", serde_json::to_string(line)?);
        (&self.1).write_all(line.as_bytes()).with_context(|| self.0.display().to_string())
    }
}

/// Reads the journal of an orchestrator; empty if it has not begun.
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
