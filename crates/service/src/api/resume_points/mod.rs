//! The steps from which turns that broke off can be resumed, and the call stacks they are in.

pub(crate) mod delete;
pub(crate) mod list;
mod response;
pub(crate) mod stack;

pub(crate) use response::ResumePointResponse;
