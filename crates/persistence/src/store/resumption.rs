use async_trait::async_trait;
use records::{ChatId, Invalid, ResumeState, Scope, SizeLimit};

use crate::StoreError;

/// Reads everything from which a chat is resumed.
#[async_trait]
pub trait Resumption: Send + Sync {
    /// Returns the complete state of a chat from one database snapshot, which can no longer be
    /// rolled back.
    ///
    /// A chat whose messages are together larger than `max_message_bytes`, or than
    /// [`ResumeState::MAX_MESSAGE_BYTES`], is [`Invalid`](StoreError::Invalid), at `/messages`; its history
    /// can be streamed.
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        max_message_bytes: usize,
    ) -> Result<ResumeState, StoreError>;
}

/// Returns the error for a chat whose messages are too large to be resumed in one read.
pub(crate) fn too_large(limit: usize) -> StoreError {
    let detail = format!("are larger than {limit} bytes together: stream the history instead");
    Invalid::too_large(SizeLimit::Batch, "/messages", detail).into()
}

/// Returns the error for resume points that are too large to be read at once.
pub(crate) fn resume_points_too_large() -> StoreError {
    let detail = "are too large together: list them, or delete those that are not needed";
    Invalid::too_large(SizeLimit::Message, "/resume_points", detail).into()
}
