//! The questions that workflows wait on.

pub(crate) mod answer;
pub(crate) mod cancel;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod request;
