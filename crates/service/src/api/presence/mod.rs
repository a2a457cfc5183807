//! Who is present in a chat.

pub(crate) mod get;
