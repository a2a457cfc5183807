use serde::{Deserialize, Serialize};

use super::{Append, Listed, Listen, Moment, Outcome, Read, Refusal, Replay};

/// One operation of one client: one request and what came of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Who did it.
    pub client: u32,
    /// When it was begun.
    pub t0: Moment,
    /// When its outcome was known.
    pub t1: Moment,
    /// What was done.
    #[serde(flatten)]
    pub operation: Operation,
}

/// What a client does.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "op", rename_all = "snake_case")]
pub enum Operation {
    /// Appends messages: all of them or none.
    Append(Append),
    /// Reads a page of messages.
    Read(Read),
    /// Reads the transcript that a conversation is resumed from.
    Replay(Replay),
    /// Listens to what happens in a chat, for as long as the record lasts.
    Listen(Listen),
    /// Lists the chats of the app, page by page.
    List {
        /// What was listed.
        outcome: Outcome<Vec<Listed>>,
    },
    /// Replaces the context snapshot of a chat by one with a version of its own.
    WriteContext {
        /// The chat.
        chat: String,
        /// Its version; no two snapshots of a chat have the same.
        version: u64,
        /// What came of it.
        outcome: Outcome<()>,
    },
    /// Reads the version of a chat's context snapshot, zero where there is none.
    ReadContext {
        /// The chat.
        chat: String,
        /// What was read.
        outcome: Outcome<u64>,
    },
    /// Sends what is said to be too large or malformed, to be refused.
    Exceed {
        /// Which limit is exceeded.
        limit: String,
        /// What came of it.
        outcome: Outcome<()>,
    },
    /// Asks a service how it is.
    Health(HealthProbe),
    /// Something was broken, for as long as the record lasts.
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
            Self::List { .. } | Self::Exceed { .. } | Self::Health(_) | Self::Nemesis(_) => None,
        }
    }

    /// Whether it may have been carried out, or yet be, without an answer.
    pub fn is_unknown(&self) -> bool {
        match self {
            Self::Append(append) => matches!(append.outcome, Outcome::Info(_)),
            Self::WriteContext { outcome, .. } => matches!(outcome, Outcome::Info(_)),
            _ => false,
        }
    }

    /// Why there was no answer, if there was to be one and was none.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Append(append) => append.outcome.refusal(),
            Self::Read(read) => read.outcome.refusal(),
            Self::Replay(replay) => replay.outcome.refusal(),
            Self::Listen(listen) => listen.outcome.refusal(),
            Self::List { outcome } => outcome.refusal(),
            Self::WriteContext { outcome, .. } => outcome.refusal(),
            Self::ReadContext { outcome, .. } => outcome.refusal(),
            Self::Exceed { .. } | Self::Health(_) | Self::Nemesis(_) => None,
        }
    }
}

/// How a service said it was.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HealthProbe {
    /// Which service, by its number.
    pub service: usize,
    /// Whether the process works.
    pub live: Outcome<()>,
    /// Whether it can serve.
    pub ready: Outcome<()>,
}

/// Something that was broken.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NemesisRecord {
    /// What was done.
    pub kind: String,
    /// How often it took effect, as far as can be counted.
    pub fired: u64,
}
