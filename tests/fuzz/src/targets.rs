//! The table of targets.

mod assemblies;
mod bodies;
mod checkpoints;
mod config;
mod contexts;
mod cursors;
mod dialects;
mod events;
mod headers;
mod imports;
mod json;
mod jsonl;
mod keys;
mod queries;
mod renderings;
mod search;
mod sockets;
mod streams;
mod tokens;

/// Something that reads bytes from outside.
#[derive(Debug, Clone, Copy)]
pub struct Target {
    /// The name of the target, and of its folders.
    pub name: &'static str,
    /// Feeds it with bytes, and panics if it breaks a promise.
    pub check: fn(&[u8]),
    /// Returns inputs to begin with.
    pub seeds: fn() -> Vec<Vec<u8>>,
}

/// Every target.
pub const TARGETS: &[Target] = &[
    json::TARGET,
    dialects::TARGET,
    renderings::TARGET,
    assemblies::TARGET,
    jsonl::TARGET,
    imports::TARGET,
    search::TARGET,
    config::TARGET,
    bodies::TARGET,
    queries::TARGET,
    cursors::TARGET,
    headers::TARGET,
    contexts::TARGET,
    streams::TARGET,
    events::TARGET,
    sockets::TARGET,
    tokens::TARGET,
    keys::TARGET,
    checkpoints::TARGET,
];

/// Returns the target with this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|target| target.name == name).copied()
}
