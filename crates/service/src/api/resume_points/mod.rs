//! Resume points: the unfinished steps of interrupted and failed turns, and their call stacks.

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod stack;
