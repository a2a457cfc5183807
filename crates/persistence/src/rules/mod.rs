//! Decisions that both stores share, without I/O.
//!
//! A store reads, calls these rules, and writes the result. The memory store and the MongoDB store
//! use the same rules, so that their behaviour cannot diverge.

pub(crate) mod access_keys;
pub(crate) mod app_document;
pub(crate) mod assistant;
pub(crate) mod audit;
pub(crate) mod batch;
pub(crate) mod billing;
pub(crate) mod call_batch;
pub(crate) mod deletion;
pub(crate) mod erasure;
pub(crate) mod examination;
pub(crate) mod exchange_batch;
pub(crate) mod fence;
pub(crate) mod if_match;
pub(crate) mod input;
pub(crate) mod lease;
pub(crate) mod ledger;
pub(crate) mod lists;
pub(crate) mod new_chat;
pub(crate) mod presence;
pub(crate) mod purge;
pub(crate) mod repeats;
pub(crate) mod rights;
pub(crate) mod search;
pub(crate) mod stored_digest;
pub(crate) mod stream;
pub(crate) mod tool_run_batch;
pub(crate) mod turn_batch;
