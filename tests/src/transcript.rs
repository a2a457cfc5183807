//! Conversations for tests: those of the project, and logs of real runs if they are available.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use records::{EventId, Message, MessageBody};
use serde_json::Value;

/// The messages of one conversation, as they are in its file.
pub type Conversation = Vec<Value>;

/// Reads a file of `fixtures/transcripts`: one message a line.
pub fn fixture(name: &str) -> Result<Conversation> {
    json_lines(&below_workspace("fixtures/transcripts").join(name))
}

/// Reads a log of real runs, one conversation a line, its messages in `field`.
///
/// These logs are not part of the project: `None`, with a printed note, if they are missing.
#[expect(clippy::print_stderr, reason = "a test that is skipped says so")]
pub fn real_runs(name: &str, field: &str) -> Result<Option<Vec<Conversation>>> {
    let path = below_workspace("../shared/real").join(name);
    if !path.exists() {
        eprintln!("skipped: {name} is not part of the project and not at {}", path.display());
        return Ok(None);
    }
    let messages = |run: Value| run[field].as_array().cloned();
    let runs: Option<Vec<_>> = json_lines(&path)?.into_iter().map(messages).collect();
    Ok(Some(runs.with_context(|| format!("a line of {name} has no {field}"))?))
}

/// Reads the streams of `fixtures/streams`: one stream on each line.
pub fn streams(name: &str) -> Result<Vec<Value>> {
    json_lines(&below_workspace("fixtures/streams").join(name))
}

/// Reads a file with one JSON value on each line.
pub fn json_lines(path: &Path) -> Result<Vec<Value>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let lines = text.lines().map(|line| Ok(serde_json::from_str(line)?));
    lines.collect::<Result<_>>().with_context(|| path.display().to_string())
}

fn below_workspace(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path)
}

/// Returns a stored message that was not changed.
#[expect(clippy::default_trait_access, reason = "the type of a time is named by `records` alone")]
pub fn stored_message(sequence: u64, event_id: EventId, body: MessageBody) -> Message {
    Message {
        sequence,
        event_id,
        body,
        author: None,
        created_at: Default::default(),
        edited_at: None,
        edited_by: None,
        deleted_at: None,
        deleted_by: None,
        is_text_kept: false,
    }
}
