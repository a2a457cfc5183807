//! Stores sessions of the Claude Agent SDK and loads them again, for the conformance suite of the SDK.
//!
//! Each line of the standard input is a session: a list of the batches of entries that were appended. Each line of the
//! standard output has its entries, after each batch was parsed and stored as messages, and all messages were rendered.

use std::collections::HashSet;
use std::io::{BufRead as _, Write as _, stdin, stdout};

use anyhow::{Result, ensure};
use records::{IdSpace, NewMessage};
use resume::dialect::{ClaudeAgentSdk, Dialect as _};
use resume::{Options, ingest};
use serde_json::Value;
use tests::transcript::stored_message;

fn main() -> Result<()> {
    for line in stdin().lock().lines() {
        let entries = Value::from(loaded(serde_json::from_str(&line?)?)?);
        let mut output = stdout().lock();
        writeln!(output, "{entries}")?;
        output.flush()?;
    }
    Ok(())
}

fn loaded(batches: Vec<Vec<Value>>) -> Result<Vec<Value>> {
    let mut stored = Vec::new();
    let mut ids = HashSet::new();
    for (number, batch) in batches.into_iter().enumerate() {
        let mut parsed = ClaudeAgentSdk.parse(Vec::new(), batch);
        ensure!(parsed.dropped.is_empty(), "an entry cannot be read: {:?}", parsed.dropped);
        ingest::assign_event_ids(
            &format!("batch_{number}"),
            &IdSpace::default(),
            &mut parsed.messages,
        );
        for NewMessage { event_id, body, .. } in parsed.messages {
            // A message that was sent before is stored once.
            let Some(event_id) = event_id.filter(|id| ids.insert(id.clone())) else { continue };
            stored.push(stored_message(stored.len() as u64, event_id, body));
        }
    }
    let rendered = ClaudeAgentSdk.render(stored, &Options::default());
    ensure!(rendered.dropped.is_empty(), "an entry is lost: {:?}", rendered.dropped);
    Ok(rendered.messages)
}
