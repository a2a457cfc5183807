//! The check of a write's fencing token.

use records::ChatId;

use crate::StoreError;

/// Refuses a write with another fencing token than that of the current lease.
///
/// A write without a token is allowed, because users write while an orchestrator runs.
pub(crate) fn check_fence(
    chat_id: &ChatId,
    token: Option<u64>,
    held: Option<u64>,
) -> Result<(), StoreError> {
    match token {
        Some(token) if held != Some(token) => Err(StoreError::fenced(chat_id, token)),
        _ => Ok(()),
    }
}
