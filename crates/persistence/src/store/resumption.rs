use std::fmt;

use async_trait::async_trait;
use records::{ChatId, Invalid, ResumeState, Scope, SizeLimit};

use crate::StoreError;
use crate::store::HistoryPages;

/// Reads everything from which a chat is resumed.
#[async_trait]
pub trait Resumption: Send + Sync {
    /// Returns the complete state of a chat from one database snapshot, which can no longer be
    /// rolled back.
    async fn resume_state(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ResumeSnapshot, StoreError>;
}

/// The complete state of a chat at one moment.
#[derive(Debug)]
pub struct ResumeSnapshot {
    /// Everything except the messages.
    pub state: ResumeState,
    /// The messages of the same moment, which are read when they are needed.
    ///
    /// A database keeps old moments for some minutes. After that, the messages can be read as long as none of
    /// them was edited or deleted since the moment; otherwise they are [`Unavailable`](StoreError::Unavailable).
    pub messages: Box<dyn MessageSource>,
}

/// The messages of a chat, which can be read several times.
pub trait MessageSource: fmt::Debug + Send {
    /// Streams every message, oldest first; each call begins with the first one.
    ///
    /// The stream buffers a bounded number of bytes, however long the chat is.
    fn pages(&mut self) -> HistoryPages<'_>;
}

/// Returns the error for resume points that are too large to be read at once.
pub(crate) fn resume_points_too_large() -> StoreError {
    let detail = "are too large together: list them, or delete those that are not needed";
    Invalid::too_large(SizeLimit::Message, "/resume_points", detail).into()
}
