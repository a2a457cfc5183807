//! Turns: a request of a user with everything that resulted from it, stored at its end.

pub(crate) mod append;
mod request;

pub(crate) use request::{OutcomeField, read_steps};
