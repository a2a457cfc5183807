//! `/api/chats/{app_id}/{chat_id}/lease`: the exclusive right to continue a chat.

pub(crate) mod acquire;
pub(crate) mod get;
pub(crate) mod release;
pub(crate) mod renew;
pub(crate) mod revoke;

use std::time::Duration;

use serde::{Deserialize, Deserializer};

/// How long a lease is valid by default.
const DEFAULT_TTL_MS: u64 = 30_000;

fn ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

fn default_ttl() -> Duration {
    Duration::from_millis(DEFAULT_TTL_MS)
}
