//! The participants of a chat.

pub(crate) mod join;
pub(crate) mod leave;
pub(crate) mod list;

/// The rule for users.
const ONLY_FOR_THEMSELVES: &str = "a user may join and leave a chat only for themselves";
