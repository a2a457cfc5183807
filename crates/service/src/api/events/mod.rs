//! The events of a chat, as they happen.

pub(crate) mod join;
pub(crate) mod listen;
