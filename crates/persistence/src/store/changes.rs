use std::sync::Arc;

use async_trait::async_trait;
use futures::stream::BoxStream;
use records::{ChatId, ChatStatus, InputRequestId, Lifecycle, Message, Scope};

use super::{Interest, StreamChange};
use crate::StoreError;

/// Notifies of changed chats, so that a subscriber knows when to read a chat.
///
/// A change may carry what was written, to save a read. The counters of the chat alone say whether that is everything.
#[async_trait]
pub trait Changes: Send + Sync {
    /// Streams the changes of chats of all apps, made by any process, from the first poll on.
    ///
    /// This stream is for the process itself, and takes no scope. It never ends and survives every
    /// failure of the database. Between [`Began`](Change::Began) and [`Lost`](Change::Lost) every
    /// change of the chats of interest is delivered at least once, when it can no longer be rolled back; those of other
    /// chats may be. Changes made through this store are always delivered, and at once, unless the listener is far behind.
    /// Sealing and the creation of a chat are not changes.
    fn changes(&self, interest: Interest) -> BoxStream<'static, Change>;

    /// Returns whether changes of other processes are delivered at all. A server without change
    /// streams delivers none; the store learns this at each [`ping`](crate::Store::ping).
    fn delivers_changes(&self) -> bool;

    /// Returns the heads of the chats that exist within the scope, in any order.
    ///
    /// After an election a head may for a moment be older than one that was returned before.
    async fn heads(&self, scope: &Scope, chat_ids: &[ChatId]) -> Result<Vec<ChatHead>, StoreError>;

    /// Returns the head of a chat, including everything that was ever acknowledged or read.
    ///
    /// This costs a round trip to the majority. It is for callers that must know that something does not
    /// exist.
    async fn confirmed_head(&self, scope: &Scope, chat_id: &ChatId)
    -> Result<ChatHead, StoreError>;
}

/// A notification in a stream of changes.
#[derive(Debug, Clone, PartialEq)]
pub enum Change {
    /// From here on every change is delivered. Changes since the last [`Change::Lost`], or before
    /// the first [`Change::Began`], may be missing.
    Began,
    /// Changes of other processes are not delivered until the next [`Change::Began`].
    Lost,
    /// Changes of a chat may be missing until now, because it was only now added to the interest of the listener.
    Listed(ChatId),
    /// A chat has changed.
    Chat(ChatChange),
    /// The users present in a chat, or their names, have changed. Announcements that expire are not
    /// notified.
    Presence(ChatId),
    /// Calls of a chat were recorded or deleted.
    Usage(ChatId),
    /// A stream was written. The number of the group says whether one is missing before it.
    Stream(StreamChange),
}

/// A change of a chat.
///
/// The app is missing because the change stream contains only changed fields; chat ids are unique
/// across apps.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatChange {
    /// The chat.
    pub chat_id: ChatId,
    /// The counter of the chat, if only messages were appended; `None` if something else has
    /// changed as well, which the chat's head shows.
    pub last_sequence: Option<u64>,
    /// The messages that were appended, without gaps, if they are few and small and the listener listed the chat. They may
    /// have been edited since.
    pub appended: Arc<[Message]>,
}

/// The head of a chat: its status, and counters that grow whenever something in the chat changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatHead {
    /// The chat.
    pub chat_id: ChatId,
    /// The sequence of the next message.
    pub last_sequence: u64,
    /// The number of edits and deletions of stored messages.
    pub revision: u64,
    /// The sequences of the messages that were edited or deleted last, oldest first, at most
    /// [`RECENT_EDITS`](Self::RECENT_EDITS). The last one belongs to `revision`, the one before it to
    /// `revision - 1`, and so on.
    pub recent_edits: Vec<u64>,
    /// The status.
    pub status: ChatStatus,
    /// The reason of the pause or failure.
    pub status_reason: Option<String>,
    /// The number of writes of the context snapshot.
    pub context_version: u64,
    /// How often the last artifact was replaced or removed.
    pub artifact_version: u64,
    /// How often an input request was created or closed.
    pub input_version: u64,
    /// The input requests created or closed last, oldest first, at most
    /// [`RECENT_INPUTS`](Self::RECENT_INPUTS).
    pub recent_inputs: Vec<InputRequestId>,
    /// The pending input requests, oldest first.
    pub pending_inputs: Vec<InputRequestId>,
    /// The number of changes of the chat session itself, such as of its title.
    pub session_version: u64,
    /// The lifecycle. A message makes an archived chat active, and leaves the version as it is.
    pub lifecycle: Lifecycle,
}

impl ChatHead {
    /// How many edits a chat remembers.
    pub const RECENT_EDITS: usize = 64;

    /// How many created or closed input requests a chat remembers.
    pub const RECENT_INPUTS: usize = 64;

    /// Returns the messages changed since a revision, each with the last revision that changed it,
    /// ordered by that revision. Returns `None` if the revision is older than the remembered edits.
    pub fn edits_since(&self, revision: u64) -> Option<Vec<(u64, u64)>> {
        let known_since = self.revision - (self.recent_edits.len() as u64).min(self.revision);
        if revision < known_since {
            return None;
        }
        let mut edits: Vec<(u64, u64)> = Vec::new();
        for (of, &sequence) in (known_since + 1..).zip(&self.recent_edits) {
            if of > revision {
                edits.retain(|(_, earlier)| *earlier != sequence);
                edits.push((of, sequence));
            }
        }
        Some(edits)
    }

    /// Returns whether this head is older than `other`. After an election the store may for a
    /// moment return an older state than before.
    pub fn is_older_than(&self, other: &Self) -> bool {
        self.revision < other.revision || self.input_version < other.input_version
    }

    /// Returns the input requests created or closed since a version, each once, in the order of
    /// their last change. Returns `None` if the version is older than the remembered requests.
    pub fn inputs_since(&self, version: u64) -> Option<Vec<&InputRequestId>> {
        let count = usize::try_from(self.input_version.saturating_sub(version)).ok()?;
        let first = self.recent_inputs.len().checked_sub(count)?;
        let mut inputs: Vec<&InputRequestId> = Vec::new();
        for request_id in &self.recent_inputs[first..] {
            inputs.retain(|earlier| *earlier != request_id);
            inputs.push(request_id);
        }
        Some(inputs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(revision: u64, recent_edits: &[u64]) -> ChatHead {
        ChatHead {
            chat_id: ChatId::parse("c1").unwrap(),
            last_sequence: 100,
            revision,
            recent_edits: recent_edits.to_vec(),
            status: ChatStatus::Running,
            status_reason: None,
            context_version: 0,
            artifact_version: 0,
            input_version: 0,
            recent_inputs: Vec::new(),
            pending_inputs: Vec::new(),
            session_version: 0,
            lifecycle: Lifecycle::Active,
        }
    }

    #[test]
    fn each_message_is_listed_with_its_last_edit() {
        let head = head(5, &[7, 3, 7]);
        assert_eq!(head.edits_since(5), Some(vec![]));
        assert_eq!(head.edits_since(4), Some(vec![(5, 7)]));
        assert_eq!(head.edits_since(2), Some(vec![(4, 3), (5, 7)]));
        assert_eq!(head.edits_since(1), None);
        assert_eq!(head.edits_since(9), Some(vec![]));
    }

    #[test]
    fn each_input_request_is_listed_once_by_its_last_change() {
        let id = |id: &str| InputRequestId::parse(id).unwrap();
        let recent_inputs = vec![id("a"), id("b"), id("a")];
        let head = ChatHead { input_version: 7, recent_inputs, ..head(0, &[]) };
        assert_eq!(head.inputs_since(7), Some(vec![]));
        assert_eq!(head.inputs_since(6), Some(vec![&id("a")]));
        assert_eq!(head.inputs_since(4), Some(vec![&id("b"), &id("a")]));
        assert_eq!(head.inputs_since(3), None);
        assert_eq!(head.inputs_since(9), Some(vec![]));
    }

    #[test]
    fn edits_before_the_remembered_ones_are_unknown() {
        assert_eq!(head(3, &[]).edits_since(2), None);
        assert_eq!(head(3, &[]).edits_since(3), Some(vec![]));
        assert_eq!(head(0, &[]).edits_since(0), Some(vec![]));
    }
}
