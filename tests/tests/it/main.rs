//! Reprise from the outside: the binary, a mongod, and calls over HTTP.

mod resume_flow;
mod traces;
mod transcripts;

mod ceilings;
mod crowd;
mod input_requests;
mod integrity;
mod orchestrator;
mod presence;
mod readers;
mod writers;
mod x509;

mod acp;
mod check;
mod commands;
mod credentials;
mod database_errors;
mod discobot;
mod embedded;
mod erasure;
mod identity_under_load;
mod imports;
mod keys;
mod metrics;
mod mint;
mod moving;
mod removals;
mod repeats;
mod rolling_restart;
mod search;
mod standalone;
mod start;
mod stats;
mod views;
mod wallets;
mod webhooks;

mod checker;
mod faults;
mod growth;
