//! Statistics: what workflows do and cost.

pub(crate) mod apps;
pub(crate) mod chats;
mod points;
pub(crate) mod series;
pub(crate) mod shares;
pub(crate) mod tools;
pub(crate) mod workflow;
pub(crate) mod workflows;
