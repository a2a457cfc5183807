//! The HTTP endpoints: one module per record, one file per endpoint.

mod created;
pub(crate) mod pages;

pub(crate) mod apps;
pub(crate) mod artifacts;
pub(crate) mod assistants;
pub(crate) mod calls;
pub(crate) mod chat_sessions;
pub(crate) mod contexts;
pub(crate) mod documents;
pub(crate) mod events;
pub(crate) mod exchanges;
pub(crate) mod health;
pub(crate) mod input_requests;
pub(crate) mod leases;
pub(crate) mod members;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod participants;
pub(crate) mod presence;
pub(crate) mod resume;
pub(crate) mod resume_points;
pub(crate) mod search;
pub(crate) mod sign_in;
pub(crate) mod stats;
pub(crate) mod streams;
pub(crate) mod tickets;
pub(crate) mod tokens;
pub(crate) mod tool_runs;
pub(crate) mod turns;
pub(crate) mod user_input;
pub(crate) mod user_stats;
pub(crate) mod wallets;
