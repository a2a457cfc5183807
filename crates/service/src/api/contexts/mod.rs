//! The context snapshot of a chat: the state its orchestrator resumes from.

mod response;

pub(crate) mod get;
pub(crate) mod merge;
pub(crate) mod replace;

pub(crate) use response::ContextResponse;
