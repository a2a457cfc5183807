//! What the backends promise, and what only one of them has.

#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod agreement;
mod memory;
mod mongo;
mod turns;
