#![doc = include_str!("../README.md")]
// The futures of store calls are deep, and their types are checked to be sent between threads.
#![recursion_limit = "256"]
#![cfg_attr(
    not(feature = "mongo"),
    expect(dead_code, unused_imports, reason = "some rules are for the store in MongoDB alone")
)]

pub mod store;
pub use store::*;

mod error;
pub use error::{BoxError, StoreError, StreamRefusal};

mod creation;
pub use creation::{Creation, create_chat_once, ensure_chat, fork_chat_once};

mod retention;
pub use retention::{
    DueChat, Retained, apply_retention, archive_due, count_due_tool_runs, purge_due,
    remove_due_tool_runs,
};

pub mod metrics;

mod integrity;
pub use integrity::{Checkpoint, Inclusion, IntegrityKeys, MessageProof, UnusableKey, Verdict};

mod offload;
pub use offload::offload;

pub mod traces;

pub mod turn;

mod rules;
pub use rules::lists::{ServedFilters, served_filters};

pub mod memory;
#[cfg(feature = "mongo")]
pub mod mongo;
