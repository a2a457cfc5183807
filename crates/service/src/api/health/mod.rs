//! Liveness and readiness.

pub(crate) mod live;
pub(crate) mod ready;
