//! What lets clients that cannot show a token listen to a chat.

pub(crate) mod create;
