//! The routes: one module per record, one file per endpoint.

pub(crate) mod artifacts;
pub(crate) mod chat_sessions;
pub(crate) mod contexts;
pub(crate) mod health;
pub(crate) mod messages;
