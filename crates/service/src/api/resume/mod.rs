//! `/api/chats/{app_id}/{chat_id}/resume`: everything that an orchestrator needs to resume a chat.

pub(crate) mod get;
mod response;
