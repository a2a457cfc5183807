//! Exchanges: messages with the call that produced them.

pub(crate) mod append;
