//! Histories: the transcript of a chat in a dialect, as a stream whose memory does not grow with the chat.

mod error;
mod format;
mod read;
mod response;
mod writer;

pub use error::HistoryError;
pub use format::Format;
pub use read::{HistoryExtras, HistoryForm, HistoryItem, HistoryItems, Source, read};
pub(crate) use response::{DroppedResponse, HistoryLine, HistoryResponse, RepairedResponse};
pub use writer::write;
