//! How the service fares.

pub(crate) mod get;
