/// What became of a chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Taken {
    /// It is in the messages, and so are those that waited for it.
    Added,
    /// It waits for those before it.
    Early,
    /// It was there already.
    Repeated,
}

/// Why a chunk cannot be taken; the messages are as they were.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AssemblyError {
    /// It comes too long before its turn.
    #[error("chunk {position} is too far ahead: {next} is next, and at most {most} may wait")]
    TooEarly {
        /// Where it stands in the stream.
        position: u64,
        /// The chunk that is waited for.
        next: u64,
        /// How many chunks may wait.
        most: u64,
    },
    /// It is none that the stream has, or lacks a field.
    #[error("chunk {position} is no chunk of the stream: {detail}")]
    Unknown {
        /// Where it stands in the stream.
        position: u64,
        /// What is wrong with it.
        detail: &'static str,
    },
}
