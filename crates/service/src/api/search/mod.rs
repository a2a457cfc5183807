//! Search in what was said.

pub(crate) mod find;
