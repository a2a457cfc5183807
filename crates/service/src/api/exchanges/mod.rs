//! Messages and the call of a model that produced them.

pub(crate) mod append;
