//! Stores around a store. Each passes the contract of the store within.

mod traced;

pub use traced::Traced;
