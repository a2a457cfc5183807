use std::collections::BTreeMap;

use serde_json::Value;

use super::outcome::{AssemblyError, ChunkOutcome};

/// How many chunks may wait for a missing chunk.
const MAX_WAITING_CHUNKS: u64 = 4_096;

/// Brings chunks into the order of their stream.
#[derive(Debug, Default)]
pub(super) struct ReorderBuffer {
    /// The position of the next chunk to apply.
    position: u64,
    waiting: BTreeMap<u64, Value>,
}

impl ReorderBuffer {
    /// Inserts a chunk, unless it was received before.
    pub(super) fn insert(
        &mut self,
        position: u64,
        chunk: Value,
    ) -> Result<ChunkOutcome, AssemblyError> {
        if position < self.position || self.waiting.contains_key(&position) {
            return Ok(ChunkOutcome::Duplicate);
        }
        let next = self.position;
        if position - next > MAX_WAITING_CHUNKS {
            return Err(AssemblyError::TooFarAhead { position, next, limit: MAX_WAITING_CHUNKS });
        }
        self.waiting.insert(position, chunk);
        Ok(if position == next { ChunkOutcome::Applied } else { ChunkOutcome::Waiting })
    }

    /// Takes the next chunk, with its position, if it has arrived.
    pub(super) fn next(&mut self) -> Option<(u64, Value)> {
        let chunk = self.waiting.remove(&self.position)?;
        let position = self.position;
        self.position += 1;
        Some((position, chunk))
    }

    /// Returns the position of the next chunk to apply.
    pub(super) fn position(&self) -> u64 {
        self.position
    }
}
