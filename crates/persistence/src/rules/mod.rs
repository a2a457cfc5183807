//! Decisions without I/O: what both stores decide alike.
//!
//! A store reads, asks these rules, and writes what they decided. The memory store and the MongoDB
//! store use the same ones, so that neither can drift from the other.

pub(crate) mod batch;
pub(crate) mod billing;
pub(crate) mod call_batch;
pub(crate) mod exchange_batch;
pub(crate) mod fence;
pub(crate) mod input;
pub(crate) mod ledger;
pub(crate) mod new_chat;
pub(crate) mod presence;
pub(crate) mod turn_batch;
