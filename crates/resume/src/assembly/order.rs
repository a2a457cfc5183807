use std::collections::BTreeMap;

use serde_json::Value;

use super::outcome::{AssemblyError, Taken};

/// How many chunks may wait for one before them.
const MOST: u64 = 4_096;

/// Brings chunks into the order of their stream.
#[derive(Debug, Default)]
pub(super) struct Order {
    position: u64,
    early: BTreeMap<u64, Value>,
}

impl Order {
    /// Takes a chunk, unless it was there already.
    pub(super) fn admit(&mut self, position: u64, chunk: Value) -> Result<Taken, AssemblyError> {
        if position < self.position || self.early.contains_key(&position) {
            return Ok(Taken::Repeated);
        }
        let next = self.position;
        if position - next > MOST {
            return Err(AssemblyError::TooEarly { position, next, most: MOST });
        }
        self.early.insert(position, chunk);
        Ok(if position == next { Taken::Added } else { Taken::Early })
    }

    /// Returns the next chunk if it is there, with its position.
    pub(super) fn next(&mut self) -> Option<(u64, Value)> {
        let chunk = self.early.remove(&self.position)?;
        let position = self.position;
        self.position += 1;
        Some((position, chunk))
    }

    /// Returns the position of the chunk that is waited for.
    pub(super) fn position(&self) -> u64 {
        self.position
    }
}
