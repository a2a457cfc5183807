//! `/api/chats/{app_id}/{chat_id}/lease`: the exclusive right to continue a chat.

pub(crate) mod acquire;
pub(crate) mod get;
pub(crate) mod release;
pub(crate) mod renew;
mod response;

use std::time::Duration;

use records::Scope;
use serde::{Deserialize, Deserializer};

use crate::problem::{Problem, ProblemKind};

/// How long a lease is valid by default.
const DEFAULT_TTL_MS: u64 = 30_000;

/// Refuses users: leases are for the programs that continue chats.
fn check_role(scope: &Scope) -> Result<(), Problem> {
    if scope.caller.person().is_none() {
        return Ok(());
    }
    let detail = "leases require a token with the role service";
    Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail))
}

fn ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

fn default_ttl() -> Duration {
    Duration::from_millis(DEFAULT_TTL_MS)
}
