//! The context snapshot of a chat: the variables that its orchestrator resumes from.

mod patch;
mod preference;
mod variables;

pub(crate) mod diff;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod merge;
pub(crate) mod replace;
pub(crate) mod restore;
pub(crate) mod version;
