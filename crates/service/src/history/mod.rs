//! The transcript to replay, as a stream that takes no more memory for a longer chat.

mod error;
mod format;
mod read;
mod response;
mod writer;

pub use error::HistoryError;
pub use format::Format;
pub use read::{Beside, Form, Part, Parts, Source, read};
pub(crate) use response::{
    DroppedResponse, HistoryLine, HistoryResponse, RepairedResponse, UnsettledCallResponse,
};
pub use writer::write;
