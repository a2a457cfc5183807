//! Whether the service runs, and whether it can work.

pub(crate) mod live;
pub(crate) mod ready;
