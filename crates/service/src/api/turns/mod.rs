//! Turns: requests of users with all that came of them, written once.

pub(crate) mod append;
mod request;
