//! Who is present in a chat.

pub(crate) mod get;
mod response;

pub(crate) use response::PresenceResponse;
