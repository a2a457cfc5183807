//! Tickets: they let clients that cannot send a token subscribe to a chat.

pub(crate) mod create;
