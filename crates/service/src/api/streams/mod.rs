//! `/api/chats/{app_id}/{chat_id}/streams`: what agents are producing at the moment.

pub(crate) mod append;
mod assembled;
pub(crate) mod cancel;
pub(crate) mod chunks;
pub(crate) mod end;
pub(crate) mod get;
mod groups;
pub(crate) mod list;
pub(crate) mod resume;
pub(crate) mod start;
pub(crate) mod take_over;
