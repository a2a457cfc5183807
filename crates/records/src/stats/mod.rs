//! What the chats and calls of a workflow add up to.

mod histogram;
mod rollup;
mod tally;

pub use histogram::Histogram;
pub use rollup::{Counter, Measure, Rollup};
pub use tally::{RollupKey, StatusChange, Subject, Tally};
