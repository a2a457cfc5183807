/// A field of the caller's input that is refused, and the reason.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct Invalid {
    /// The JSON pointer (RFC 6901) to the field, from the root of the input; empty for the root itself.
    pub pointer: String,
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
    TooLarge,
}

impl Invalid {
    /// Creates the fault of a value that the field does not accept.
    pub fn value(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into(), kind: InvalidKind::Value }
    }

    /// Creates the fault of a value that exceeds a size limit.
    pub fn too_large(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into(), kind: InvalidKind::TooLarge }
    }

    /// Prepends `prefix` to the pointer, for an input that is part of a larger one.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}
