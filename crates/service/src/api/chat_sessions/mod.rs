//! Chat sessions: create, fork, list, read, change, archive, delete, and change the status.

mod transition;

pub(crate) mod activate;
pub(crate) mod archive;
pub(crate) mod complete;
pub(crate) mod create;
pub(crate) mod delete;
pub(crate) mod ensure;
pub(crate) mod fail;
pub(crate) mod fork;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod meta;
pub(crate) mod pause;
pub(crate) mod reopen;
mod time_groups;
pub(crate) mod undelete;
pub(crate) mod update;

use records::ChatSession;

pub(crate) use transition::ReasonRequest;

use crate::extract::{Json, Tagged};
use crate::wire::ChatSessionResponse;

/// Responds to a change of a chat session.
fn tagged(chat: ChatSession) -> Tagged<Json<ChatSessionResponse>> {
    let tag = Some(chat.session_version.to_string());
    Tagged { tag, response: Json(chat.into()) }
}
