#![doc = include_str!("../README.md")]

mod dropped;
pub use dropped::{DropReason, Dropped};

mod repaired;
pub use repaired::{Repair, Repaired};

mod normalize;
pub use normalize::{Candidate, Options, StrictMessage, StrictRole, normalize};

mod unsettled;
pub use unsettled::{UnsettledCall, UnsettledPolicy};

mod grown;

mod recognition;
pub use recognition::{
    Recognised, ShownItems, is_instruction, item_digest, may_be_added, recognise,
};

mod rendered;

mod pending_calls;
pub use pending_calls::PendingCall;

pub mod assembly;
pub mod call_stack;
mod calls;
mod canonical;
pub mod dialect;
pub mod ingest;
pub mod plan;
pub mod replay;
pub mod window;
