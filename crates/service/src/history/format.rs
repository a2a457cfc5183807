/// The serialization of a history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object.
    Json,
    /// JSON lines: one for each message, and a last one that marks the history as complete.
    Ndjson,
}

impl Format {
    /// Returns the media type of the format.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
        }
    }
}
