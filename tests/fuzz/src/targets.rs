//! The table of targets.

mod assemblies;
mod dialects;
mod imports;
mod json;
mod jsonl;
mod renderings;
mod search;

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
];

/// Returns the target with this name.
#[must_use]
pub fn target(name: &str) -> Option<Target> {
    TARGETS.iter().find(|target| target.name == name).copied()
}
