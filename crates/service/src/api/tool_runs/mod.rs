//! The runs of the tools of a chat.

pub(crate) mod list;
pub(crate) mod record;
pub(crate) mod stats;
