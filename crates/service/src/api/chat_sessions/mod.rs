//! Chat sessions: create, fork, list, read, and change the status.

mod transition;

pub(crate) mod complete;
pub(crate) mod create;
pub(crate) mod ensure;
pub(crate) mod fail;
pub(crate) mod fork;
pub(crate) mod get;
pub(crate) mod list;
pub(crate) mod meta;
pub(crate) mod pause;
pub(crate) mod reopen;

pub(crate) use transition::ReasonRequest;
