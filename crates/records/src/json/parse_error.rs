use crate::Invalid;

/// The reason why a text is refused as JSON.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// The text is not JSON.
    #[error("not valid JSON")]
    Syntax(#[source] serde_json::Error),
    /// The text is JSON that cannot be stored without a loss, or a list in it is too long.
    #[error(transparent)]
    Refused(#[from] Invalid),
    /// The text has so many values that they would take more memory than a text of its size may.
    #[error(
        "has too many values: parsed, they would take more than {limit} bytes; send fewer values, or long lists as text"
    )]
    TooManyValues {
        /// The limit for a text of this size, in bytes.
        limit: usize,
    },
}
