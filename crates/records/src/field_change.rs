/// What a change does to one field that may be missing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum FieldChange<T> {
    /// The field stays as it is.
    #[default]
    Keep,
    /// The field is removed.
    Clear,
    /// The field gets a value.
    Set(T),
}

impl<T> FieldChange<T> {
    /// Returns the field after the change.
    #[must_use]
    pub fn applied_to(self, current: Option<T>) -> Option<T> {
        match self {
            Self::Keep => current,
            Self::Clear => None,
            Self::Set(value) => Some(value),
        }
    }

    /// Returns the value of a field that is never missing: clearing it gives it its default. `None` if it stays.
    #[must_use]
    pub fn or_default(self) -> Option<T>
    where
        T: Default,
    {
        match self {
            Self::Keep => None,
            Self::Clear => Some(T::default()),
            Self::Set(value) => Some(value),
        }
    }

    /// Returns the value that the field gets.
    pub fn value(&self) -> Option<&T> {
        match self {
            Self::Set(value) => Some(value),
            Self::Keep | Self::Clear => None,
        }
    }
}
