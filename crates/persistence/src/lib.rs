#![doc = include_str!("../README.md")]

pub mod store;
pub use store::{
    Append, Appended, Artifacts, CallCursor, CallPage, Calls, ChatFilter, ChatSessions, Contexts,
    Cursor, MessageRange, Messages, Outcome, Page, RecordedCall, Store, Transcript,
};

mod error;
pub use error::{BoxError, StoreError};

mod batch;
mod call_batch;
mod new_chat;

pub mod memory;
pub mod mongo;
pub mod wrappers;

#[cfg(feature = "contract")]
pub mod contract;
