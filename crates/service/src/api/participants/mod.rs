//! Who takes part in a chat.

pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod list;
mod response;

/// What a person may do here.
const OWN: &str = "a user joins and leaves for themselves only";
