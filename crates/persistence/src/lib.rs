#![doc = include_str!("../README.md")]

pub mod store;
pub use store::{
    AppPage, Append, Appended, Apps, Artifacts, Billing, CallCursor, CallPage, Calls, Change,
    Changes, ChatChange, ChatFilter, ChatHead, ChatSessions, ChatStats, ChatStatsPage, Contexts,
    Cursor, EntryPage, Exchange, Exchanges, HourlyStats, MessageRange, Messages, Outcome, Page,
    Payment, RecordedCall, Recording, Stats, Store, Transcript, WalletPage, Wallets, WorkflowStats,
    WorkflowSummary,
};

mod error;
pub use error::{BoxError, StoreError};

pub mod metrics;

mod batch;
mod billing;
mod call_batch;
mod exchange_batch;
mod ledger;
mod new_chat;

pub mod memory;
pub mod mongo;
pub mod wrappers;

#[cfg(feature = "contract")]
pub mod contract;
