//! Input requests: the questions that workflows wait for.

pub(crate) mod answer;
pub(crate) mod cancel;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod pending;
pub(crate) mod request;
