//! Statistics of the chats and calls of a workflow.

mod histogram;
mod rollup;
mod tally;

pub use histogram::Histogram;
pub use rollup::{Counter, Measure, Rollup};
pub use tally::{RollupKey, StatusChange, Subject, Tally, hour_of};
