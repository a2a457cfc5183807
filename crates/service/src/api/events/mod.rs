//! The live events of a chat.

pub(crate) mod join;
pub(crate) mod listen;
