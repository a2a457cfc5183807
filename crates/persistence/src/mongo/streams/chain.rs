use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use records::{ChatId, Scope, StreamId, StreamMark};
use tokio::time::Instant;

/// How long a caller that has the permission to write a stream is believed to have it.
const PERMITTED_FOR: Duration = Duration::from_secs(5);

/// A mark that was not used for so long is read again.
const BELIEVED_FOR: Duration = Duration::from_mins(10);

/// The most marks held.
const MAX_MARKS: usize = 10_000;

/// The most callers remembered for one stream.
const MAX_CALLERS: usize = 4;

/// The marks of the streams that this process has written, so that adding chunks reads nothing.
///
/// A mark may be behind what another process has written. The insert of the next group then fails, because its number is
/// taken, and the mark is read again.
#[derive(Debug, Default)]
pub(crate) struct Chains(Mutex<HashMap<(ChatId, StreamId), SharedChain>>);

/// One writer at a time continues a chain.
type SharedChain = Arc<tokio::sync::Mutex<Option<Chain>>>;

/// The mark of a stream, and the callers that were found to have the permission to write it.
#[derive(Debug)]
pub(super) struct Chain {
    pub(super) mark: StreamMark,
    permitted: Vec<(Scope, Instant)>,
    used_at: Instant,
}

impl Chains {
    pub(super) fn of(&self, chat_id: &ChatId, stream_id: &StreamId) -> SharedChain {
        let mut chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if chains.len() >= MAX_MARKS {
            // Those in use are held by their writers as well.
            chains.retain(|_, chain| Arc::strong_count(chain) > 1);
        }
        Arc::clone(chains.entry((chat_id.clone(), stream_id.clone())).or_default())
    }

    /// Forgets the streams of a chat, whose writers may not have their permission any more.
    pub(crate) fn forget_chat(&self, chat_id: &ChatId) {
        let mut chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chains.retain(|(of, _), _| of != chat_id);
    }

    pub(super) fn forget(&self, chat_id: &ChatId, stream_id: &StreamId) {
        let mut chains = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chains.remove(&(chat_id.clone(), stream_id.clone()));
    }
}

impl Chain {
    pub(super) fn new(mark: StreamMark) -> Self {
        Self { mark, permitted: Vec::new(), used_at: Instant::now() }
    }

    pub(super) fn is_recent(&self) -> bool {
        self.used_at.elapsed() < BELIEVED_FOR
    }

    pub(super) fn moved(mut self, mark: StreamMark) -> Self {
        self.mark = mark;
        self.used_at = Instant::now();
        self
    }

    /// Returns whether a caller was found a short while ago to have the permission of the scope.
    pub(super) fn permits(&mut self, scope: &Scope) -> bool {
        self.permitted.retain(|(_, at)| at.elapsed() < PERMITTED_FOR);
        self.permitted.iter().any(|(known, _)| known.has_same_rights(scope))
    }

    pub(super) fn note_permitted(&mut self, scope: &Scope) {
        if self.permitted.len() == MAX_CALLERS {
            self.permitted.remove(0);
        }
        self.permitted.push((scope.clone(), Instant::now()));
    }
}
