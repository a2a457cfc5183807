/// A field of the caller's input that cannot be accepted, and why.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{pointer}: {detail}")]
pub struct Invalid {
    /// JSON pointer (RFC 6901) to the field, from the root of the input; empty for the root itself.
    pub pointer: String,
    /// What is wrong, with the limit where there is one.
    pub detail: String,
    /// The kind of objection.
    pub kind: InvalidKind,
}

/// The kinds of objection to an input.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvalidKind {
    /// The value is not one that the field admits.
    Value,
    /// The value exceeds a size limit.
    TooLarge,
}

impl Invalid {
    /// Objects to a value.
    pub fn value(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into(), kind: InvalidKind::Value }
    }

    /// Objects to a size.
    pub fn too_large(pointer: impl Into<String>, detail: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), detail: detail.into(), kind: InvalidKind::TooLarge }
    }

    /// Places the objection below `prefix`, for an input that is part of a larger one.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        self.pointer.insert_str(0, prefix);
        self
    }
}
