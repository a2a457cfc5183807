//! The members of a chat: the users with whom it is shared by name.

pub(crate) mod list;
pub(crate) mod put;
pub(crate) mod remove;
