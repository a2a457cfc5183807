#![doc = include_str!("../README.md")]
#![expect(missing_docs, reason = "the name of a promise describes it")]
#![expect(clippy::missing_panics_doc, clippy::unwrap_used, reason = "a broken promise is a panic")]

pub mod chat_sessions;
pub mod lists;
pub mod stats;
pub mod statuses;

pub mod appends;
pub mod authors;
pub mod edits;
pub mod exchanges;
pub mod forks;
pub mod initial_messages;
pub mod limits;
pub mod messages;
pub mod participants;
pub mod presence;
pub mod races;
pub mod repeats;

pub mod artifacts;
pub mod billing;
pub mod calls;
pub mod changes;
pub mod context_history;
pub mod contexts;
pub mod input_requests;
pub mod leases;
pub mod resumption;
pub mod turns;

pub mod apps;
pub mod tickets;
pub mod wallets;

pub mod json;
pub mod metrics;
pub mod ping;
pub mod scopes;

pub mod arbitrary;
pub mod poison;

mod fixture;
mod suite;

use std::sync::Arc;

use persistence::Store;

/// Checks that a store keeps a promise. The guard of the store lives until the check ends.
pub async fn check<Guard>(
    make_store: impl Future<Output = (Arc<dyn Store>, Guard)>,
    promise: impl AsyncFnOnce(Arc<dyn Store>),
) {
    let (store, _guard) = make_store.await;
    promise(store).await;
}
