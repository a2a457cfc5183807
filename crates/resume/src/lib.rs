#![doc = include_str!("../README.md")]

mod dropped;
pub use dropped::{DropReason, Dropped};

mod repaired;
pub use repaired::{Repair, Repaired};

mod normalize;
pub use normalize::{Candidate, Options, StrictMessage, StrictRole, normalize};

mod unsettled;
pub use unsettled::{Unsettled, UnsettledCall};

mod calls;
mod canonical;
pub mod dialect;
pub mod ingest;
pub mod replay;
pub mod window;
