//! `/api/chats/{app_id}/{chat_id}/resume`: everything that is needed to go on.

pub(crate) mod get;
mod response;
