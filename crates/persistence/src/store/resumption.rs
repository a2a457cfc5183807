use async_trait::async_trait;
use records::{ChatId, ResumeState, Scope};

use crate::StoreError;

/// Brings chats back.
#[async_trait]
pub trait Resumption: Send + Sync {
    /// Returns all that a chat is resumed from, as it was at one moment, which can no longer be lost.
    ///
    /// A chat whose messages are larger than [`ResumeState::MAX_MESSAGE_BYTES`] together is
    /// [`Invalid`](StoreError::Invalid), at `/messages`: its history can be streamed.
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ResumeState, StoreError>;
}

/// Says that a chat is too large to be brought back at once.
pub(crate) fn too_large() -> StoreError {
    let limit = ResumeState::MAX_MESSAGE_BYTES;
    let detail = format!("are larger than {limit} bytes together: stream the history instead");
    records::Invalid::too_large("/messages", detail).into()
}

/// Says that the steps to resume from are too large to be read at once.
pub(crate) fn points_too_large() -> StoreError {
    let detail = "are too large together: list them, or delete those that are not needed";
    records::Invalid::too_large("/resume_points", detail).into()
}
