use serde::{Deserialize, Serialize};

use super::{Append, DocumentWrite, Listed, Listen, Moment, Outcome, Read, Refusal, Replay};

/// One operation of one client: one request and its result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The number of the client.
    pub client: u32,
    /// The time of its beginning.
    pub t0: Moment,
    /// The time at which its outcome was known.
    pub t1: Moment,
    /// The operation.
    #[serde(flatten)]
    pub operation: Operation,
}

/// An operation of a client.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    /// Appends messages: all of them or none.
    Append(Append),
    /// Reads a page of messages.
    Read(Read),
    /// Reads the transcript that a conversation is resumed from.
    Replay(Replay),
    /// Subscribes to a chat, for the duration of the record.
    Listen(Listen),
    /// Lists the chats of the app, page by page.
    List {
        /// The result.
        outcome: Outcome<Vec<Listed>>,
    },
    /// Replaces the context snapshot of a chat by one with a version of its own.
    WriteContext {
        /// The chat.
        chat: String,
        /// Its version; no two snapshots of a chat have the same.
        version: u64,
        /// The result.
        outcome: Outcome<()>,
    },
    /// Reads the version of a chat's context snapshot, zero where there is none.
    ReadContext {
        /// The chat.
        chat: String,
        /// The result.
        outcome: Outcome<u64>,
    },
    /// Writes a document.
    Document(DocumentWrite),
    /// Sends a request that is too large or malformed, which must be refused.
    Exceed {
        /// The exceeded limit.
        limit: String,
        /// The result.
        outcome: Outcome<()>,
    },
    /// Reads the health of a service.
    Health(HealthProbe),
    /// A fault, for the duration of the record.
    Nemesis(NemesisRecord),
}

impl Operation {
    /// The chat that is read or written.
    pub fn chat(&self) -> Option<&str> {
        match self {
            Self::Append(Append { chat, .. })
            | Self::Read(Read { chat, .. })
            | Self::Replay(Replay { chat, .. })
            | Self::Listen(Listen { chat, .. })
            | Self::WriteContext { chat, .. }
            | Self::ReadContext { chat, .. } => Some(chat),
            Self::List { .. }
            | Self::Document(_)
            | Self::Exceed { .. }
            | Self::Health(_)
            | Self::Nemesis(_) => None,
        }
    }

    /// Whether it may have been applied, or may still be, although its outcome is unknown.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Append(append) => matches!(append.outcome, Outcome::Info(_)),
            Self::WriteContext { outcome, .. } => matches!(outcome, Outcome::Info(_)),
            Self::Document(write) => matches!(write.outcome, Outcome::Info(_)),
            _ => false,
        }
    }

    /// Why there was no result, if one was expected.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Append(append) => append.outcome.refusal(),
            Self::Read(read) => read.outcome.refusal(),
            Self::Replay(replay) => replay.outcome.refusal(),
            Self::Listen(listen) => listen.outcome.refusal(),
            Self::List { outcome } => outcome.refusal(),
            Self::WriteContext { outcome, .. } => outcome.refusal(),
            Self::ReadContext { outcome, .. } => outcome.refusal(),
            Self::Document(write) => write.outcome.refusal(),
            Self::Exceed { .. } | Self::Health(_) | Self::Nemesis(_) => None,
        }
    }
}

/// The reported health of a service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HealthProbe {
    /// The number of the service.
    pub service: usize,
    /// Whether the process works.
    pub live: Outcome<()>,
    /// Whether it can serve.
    pub ready: Outcome<()>,
}

/// A fault.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NemesisRecord {
    /// The operation.
    pub kind: String,
    /// How often it took effect, if that can be counted.
    pub fired: u64,
}
