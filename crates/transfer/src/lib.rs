#![doc = include_str!("../README.md")]

pub mod ag2_log;
pub mod collections;
mod in_dialect;
pub mod jsonl;
mod kept;
pub mod lines;
mod read_message;
pub mod transcripts;

pub use in_dialect::MessagesError;
pub use read_message::ReadMessage;
