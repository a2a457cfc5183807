//! The API, from the outside: every route over the store in memory, without a socket wherever one
//! is not the point.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod apps;
mod artifacts;
mod auth;
mod authors;
mod bodies;
mod calls;
mod chat_sessions;
mod config;
mod contexts;
mod dashboard;
mod events;
mod failures;
mod faulty;
mod forks;
mod harness;
mod histories;
mod history;
mod input_requests;
mod leases;
mod logs;
mod messages;
mod metrics;
mod metrics_live;
mod openapi;
mod ownership;
mod participants;
mod poison;
mod presence;
mod queries;
mod requests;
mod serve;
mod signatures;
mod sizes;
mod socket;
mod stats;
mod streams;
mod tickets;
mod tokens;
mod transcripts;
mod turns;
mod wallets;
mod websocket;
mod websocket_handshake;
mod websocket_input;
mod websocket_limits;
