use crate::{BoxError, StoreError};

/// Identifies a stored document in errors.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DocumentName<'a> {
    pub(crate) collection: &'static str,
    pub(crate) id: &'a str,
}

impl DocumentName<'_> {
    /// Returns the error for an invalid field.
    pub(crate) fn corrupt(&self, field: &str, source: Option<BoxError>) -> StoreError {
        let (collection, id, field) = (self.collection, self.id.to_owned(), field.to_owned());
        StoreError::Corrupt { collection, id, field, source }
    }
}
