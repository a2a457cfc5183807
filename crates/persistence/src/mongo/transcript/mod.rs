//! The messages of a chat: appended to its tail, sealed into segments, edited in place, shared with
//! forks, and read as one sequence.

pub(crate) mod append;
mod deleted_text;
pub(crate) mod edit;
pub(crate) mod forks;
pub(crate) mod initial;
pub(crate) mod kept_texts;
pub(crate) mod locate;
pub(crate) mod overlays;
pub(crate) mod overwrite;
pub(crate) mod reader;
mod repeats;
pub(crate) mod sealing;
pub(crate) mod unlink;
