//! What the chats of users cost.

pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod series;
