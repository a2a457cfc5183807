use crate::Location;

/// A field of the caller's input that is refused, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{location}: {detail}")]
pub struct Invalid {
    /// The place of the field in the input.
    pub location: Location,
    /// What is wrong with the value, and the limit if there is one.
    pub detail: String,
    /// The kind of fault.
    pub kind: InvalidKind,
}

/// The kind of fault of an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidKind {
    /// The field does not accept the value.
    Value,
    /// The value exceeds a size limit.
    TooLarge(SizeLimit),
}

/// A size limit, by what it bounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeLimit {
    /// A message, the error of a step, or all resume points of a chat.
    Message,
    /// A list of records: the number of its items, or their size together.
    Batch,
    /// The metadata of a chat or of a question.
    Metadata,
    /// A question.
    Question,
    /// A context snapshot.
    Context,
    /// An artifact.
    Artifact,
    /// A run of a tool.
    ToolRun,
    /// An assistant.
    Assistant,
    /// A document.
    Document,
}

impl SizeLimit {
    /// Refuses a value of more than `max` bytes.
    pub(crate) fn check(
        self,
        location: impl Into<Location>,
        bytes: usize,
        max: usize,
    ) -> Result<(), Invalid> {
        if bytes <= max {
            return Ok(());
        }
        let detail = format!("is {bytes} bytes; the limit is {max} bytes");
        Err(Invalid::too_large(self, location, detail))
    }
}

impl Invalid {
    /// Creates the fault of a value that the field does not accept.
    pub fn value(location: impl Into<Location>, detail: impl Into<String>) -> Self {
        let (location, detail) = (location.into(), detail.into());
        Self { location, detail, kind: InvalidKind::Value }
    }

    /// Creates the fault of a value that exceeds a size limit.
    pub fn too_large(
        limit: SizeLimit,
        location: impl Into<Location>,
        detail: impl Into<String>,
    ) -> Self {
        Self { kind: InvalidKind::TooLarge(limit), ..Self::value(location, detail) }
    }

    /// Returns the fault in an input of which this input is the part at `outer`.
    #[must_use]
    pub fn below(self, outer: impl Into<Location>) -> Self {
        Self { location: self.location.below(outer), ..self }
    }
}
