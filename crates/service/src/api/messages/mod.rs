//! The messages of a chat: append, read, edit, delete, and render as a history.

mod body;
mod request;
mod response;
mod transcript;

pub(crate) mod append;
pub(crate) mod delete;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod initial;
pub(crate) mod list;
pub(crate) mod update;

pub(crate) use body::{AuthorRequest, MessageRequest};
pub(crate) use request::MessagesBody;
pub(crate) use response::{AppendResponse, AppendedResponse};
