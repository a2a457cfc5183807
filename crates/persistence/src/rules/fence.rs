//! Whether a write under a lease comes too late.

use records::ChatId;

use crate::StoreError;

/// Refuses a write under another lease than the one that is held now.
///
/// A write without a lease is let through: people write while an orchestrator runs.
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
