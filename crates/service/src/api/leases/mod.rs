//! `/api/chats/{app_id}/{chat_id}/lease`: who alone may carry the chat on.

pub(crate) mod acquire;
pub(crate) mod get;
pub(crate) mod release;
pub(crate) mod renew;
mod response;

use std::time::Duration;

use records::Scope;
use serde::{Deserialize, Deserializer};

use crate::problem::{Problem, ProblemKind};

/// How long a lease is given for, unless said.
const TTL_MS: u64 = 30_000;

/// Refuses people: a lease is for the programs that carry chats on.
fn check_role(scope: &Scope) -> Result<(), Problem> {
    if scope.caller.person().is_none() {
        return Ok(());
    }
    let detail = "a lease is for the roles service and operator";
    Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, detail))
}

fn ttl<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    u64::deserialize(deserializer).map(Duration::from_millis)
}

fn default_ttl() -> Duration {
    Duration::from_millis(TTL_MS)
}
