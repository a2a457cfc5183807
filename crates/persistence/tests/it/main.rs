//! Tests of what both stores promise, and of each store alone.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agreement;
mod memory;
mod mongo;
mod turns;
mod waiting;
