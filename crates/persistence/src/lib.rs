#![doc = include_str!("../README.md")]

pub mod store;
pub use store::{
    AnsweredInput, AppPage, Append, Appended, Apps, Artifacts, Billing, CallCursor, CallPage,
    Calls, Change, Changes, ChatChange, ChatFilter, ChatHead, ChatPresence, ChatSessions,
    ChatStats, ChatStatsPage, Contexts, CountedApps, Cursor, EntryPage, Exchange, Exchanges,
    HourlyStats, InputCursor, InputPage, InputRequests, Interrupted, Joined, Leases, MessageRange,
    Messages, Outcome, Page, ParticipantCursor, ParticipantPage, Participants, Payment, Presence,
    RecordedCall, Recording, RequestedInput, Stats, Store, Tickets, Transcript, WalletPage,
    Wallets, WorkflowStats, WorkflowSummary,
};

mod error;
pub use error::{BoxError, StoreError};

pub mod metrics;

mod batch;
mod billing;
mod call_batch;
mod exchange_batch;
mod input;
mod ledger;
mod new_chat;
mod presence;

pub mod memory;
pub mod mongo;
pub mod wrappers;

#[cfg(feature = "contract")]
pub mod contract;
