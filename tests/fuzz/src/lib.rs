#![doc = include_str!("../README.md")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a target fails by panicking")]

mod targets;
pub use targets::{TARGETS, Target, target};

pub mod mutation;

mod fixtures;
mod input;
mod transcript;
mod world;
