//! The last artifact of a chat, which the user's artifact panel shows.

pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod put;
