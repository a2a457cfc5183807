//! The calls of model providers that a chat has made, and their usage.

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod record;
