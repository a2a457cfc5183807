/// What happened to a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChunkOutcome {
    /// It was applied, and so were the chunks that waited for it.
    Applied,
    /// It waits for the chunks before it.
    Waiting,
    /// It was received before.
    Duplicate,
}

/// The reason why a chunk was refused; the messages are unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// Too many chunks are missing before it.
    #[error(
        "chunk {position} is too far ahead of the next chunk {next}; at most {limit} chunks may wait"
    )]
    TooFarAhead {
        /// The position of the chunk in the stream.
        position: u64,
        /// The position of the next chunk to apply.
        next: u64,
        /// How many chunks may wait.
        limit: u64,
    },
    /// The stream has no such chunk, or the chunk lacks a field.
    #[error("chunk {position} is invalid: {detail}")]
    InvalidChunk {
        /// The position of the chunk in the stream.
        position: u64,
        /// What is wrong with the chunk.
        detail: &'static str,
    },
}
