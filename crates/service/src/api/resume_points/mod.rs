//! Resume points: the unfinished steps of interrupted and failed turns, and their call stacks.

pub(crate) mod delete;
pub(crate) mod list;
mod response;
pub(crate) mod stack;

pub(crate) use response::ResumePointResponse;
