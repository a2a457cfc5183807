#![doc = include_str!("../README.md")]

pub mod store;
pub use store::{
    Append, Appended, Artifacts, ChatFilter, ChatSessions, Contexts, Cursor, MessageRange,
    Messages, Outcome, Page, Store, Transcript,
};

mod error;
pub use error::{BoxError, StoreError};

mod batch;
mod new_chat;

pub mod memory;
pub mod mongo;
pub mod wrappers;

#[cfg(feature = "contract")]
pub mod contract;
