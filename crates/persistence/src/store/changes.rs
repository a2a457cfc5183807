use async_trait::async_trait;
use futures::stream::BoxStream;
use records::{ChatId, ChatStatus, InputRequestId, Scope};

use crate::StoreError;

/// Says which chats change, so that whoever follows one knows when to read it.
///
/// A change says that there is something to read, never what: the chat itself is the only source.
#[async_trait]
pub trait Changes: Send + Sync {
    /// Streams the changes of all chats of all apps, made by whomever, from when it is first read.
    ///
    /// For the process itself, for as long as it is read: it never ends by itself, and outlives every
    /// failure of the database. Between [`Began`](Change::Began) and [`Lost`](Change::Lost) every
    /// change is told, at least once, when it can no longer be lost. Changes made through this very
    /// store are told at once, at any time. Sealing is no change, nor is the creation of a chat.
    fn changes(&self) -> BoxStream<'static, Change>;

    /// Tells whether changes made elsewhere are told at all: not so at a server without change
    /// streams, as far as that is known since the last [`ping`](crate::Store::ping).
    fn tells_changes(&self) -> bool;

    /// Returns how those of the chats stand that there are within the scope, in any order.
    ///
    /// After an election a head may, for a moment, be older than one that was returned before.
    async fn heads(&self, scope: &Scope, chat_ids: &[ChatId]) -> Result<Vec<ChatHead>, StoreError>;

    /// Returns how a chat stands, reflecting everything that was ever acknowledged or read.
    ///
    /// Costs a round through the majority; for who must know that something is not there.
    async fn confirmed_head(&self, scope: &Scope, chat_id: &ChatId)
    -> Result<ChatHead, StoreError>;
}

/// Something that a stream of changes says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// From here on every change is told. Those since the last [`Change::Lost`], or ever, may not
    /// have been.
    Began,
    /// Changes made elsewhere are not told until the next [`Change::Began`].
    Lost,
    /// A chat has changed.
    Chat(ChatChange),
    /// Others are present in a chat, or are called otherwise. Not told of those whose announcement has
    /// run out.
    Presence(ChatId),
    /// Calls of a chat were recorded or deleted.
    Usage(ChatId),
}

/// A change of a chat.
///
/// Without the app: ids of chats are unique across apps, and a database does not say what a change
/// left as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatChange {
    /// Which chat.
    pub chat_id: ChatId,
    /// The counter it has reached, if all there is to it is that messages were appended; `None`
    /// where something else has changed as well, which the chat's head shows.
    pub last_sequence: Option<u64>,
}

/// How a chat stands: what grows whenever something in it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatHead {
    /// Which chat.
    pub chat_id: ChatId,
    /// The sequence the next message gets.
    pub last_sequence: u64,
    /// How often messages that were stored already have been edited or deleted.
    pub revision: u64,
    /// The sequences of those edited or deleted last, oldest first, at most
    /// [`RECENT_EDITS`](Self::RECENT_EDITS): the last is what the revision stands for, the one before
    /// it the revision before, and so on.
    pub recent_edits: Vec<u64>,
    /// Where it stands.
    pub status: ChatStatus,
    /// Why it was paused or has failed.
    pub status_reason: Option<String>,
    /// How often its context snapshot was written.
    pub context_version: u64,
    /// How often its last artifact was replaced or removed.
    pub artifact_version: u64,
    /// How often an input request was made or closed.
    pub input_version: u64,
    /// Those that were last, oldest first, at most [`RECENT_INPUTS`](Self::RECENT_INPUTS).
    pub recent_inputs: Vec<InputRequestId>,
    /// Those that are pending, oldest first.
    pub pending_inputs: Vec<InputRequestId>,
}

impl ChatHead {
    /// How many edits are remembered with a chat.
    pub const RECENT_EDITS: usize = 64;

    /// How many input requests that were made or closed are remembered with a chat.
    pub const RECENT_INPUTS: usize = 64;

    /// Returns the messages changed since a revision, each with the last revision that changed it, in
    /// the order of these; `None` where that is no longer known.
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

    /// Tells whether less has happened by it than by another one: after an election, for a moment, the
    /// store may show less than it did before.
    pub fn is_older_than(&self, other: &Self) -> bool {
        self.revision < other.revision || self.input_version < other.input_version
    }

    /// Returns the input requests made or closed since a version, each once, in the order of what was
    /// last done with it; `None` where that is no longer known.
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
        }
    }

    #[test]
    fn each_message_counts_with_its_last_edit() {
        let head = head(5, &[7, 3, 7]);
        assert_eq!(head.edits_since(5), Some(vec![]));
        assert_eq!(head.edits_since(4), Some(vec![(5, 7)]));
        assert_eq!(head.edits_since(2), Some(vec![(4, 3), (5, 7)]));
        assert_eq!(head.edits_since(1), None);
        assert_eq!(head.edits_since(9), Some(vec![]));
    }

    #[test]
    fn each_input_request_counts_with_what_was_last_done() {
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
    fn edits_from_before_they_were_remembered_are_not_known() {
        assert_eq!(head(3, &[]).edits_since(2), None);
        assert_eq!(head(3, &[]).edits_since(3), Some(vec![]));
        assert_eq!(head(0, &[]).edits_since(0), Some(vec![]));
    }
}
