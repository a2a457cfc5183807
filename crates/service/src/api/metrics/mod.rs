//! Service metrics.

pub(crate) mod get;
