/// How a history is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON object.
    Json,
    /// Lines of JSON: one for each message, and a last one that says that it is complete.
    Ndjson,
}

impl Format {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Ndjson => "application/x-ndjson",
        }
    }
}
