#![doc = include_str!("../README.md")]

pub mod store;
pub use store::{
    AnsweredInput, AppPage, Append, Appended, AppendedTurn, Apps, Artifacts, Billing, CallCursor,
    CallPage, Calls, Change, Changes, ChatChange, ChatFilter, ChatHead, ChatPresence, ChatSessions,
    ChatStats, ChatStatsPage, ContextHistory, ContextVersionPage, Contexts, CountedApps, Cursor,
    EntryPage, Exchange, Exchanges, Forks, HourlyStats, InputCursor, InputPage, InputRequests,
    Interrupted, Joined, Leases, MessageRange, Messages, Outcome, Page, ParticipantCursor,
    ParticipantPage, Participants, Payment, Presence, RecordedCall, Recording, RequestedInput,
    ResumePointCursor, ResumePointFilter, ResumePointPage, Resumption, Stats, Store, Tickets,
    Transcript, Turns, WalletPage, Wallets, WorkflowStats, WorkflowSummary,
};

mod error;
pub use error::{BoxError, StoreError};

pub mod metrics;

pub mod turn;

mod rules;

pub mod memory;
pub mod mongo;
