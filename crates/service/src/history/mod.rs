//! Transcripts: a chat in a dialect, as a stream of text whose memory does not grow with the chat.
//!
//! A history, a plan and the command line have the same transcript: one reader, one first pass, one writer.

mod download;
mod error;
mod format;
mod json_text;
mod read;
mod response;
mod source;
mod writer;

pub(crate) use download::download;
pub use error::HistoryError;
pub use format::Format;
pub use read::read;
pub(crate) use read::{Observer, Reading, write};
pub(crate) use response::{DroppedResponse, HistoryLine, HistoryResponse, RepairedResponse};
pub use source::Source;
pub(crate) use source::{in_time, next_page};
pub(crate) use writer::{Layout, Writer};
