use serde::{Deserialize, Serialize};

use super::Moment;

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
            Self::List { outcome } => outcome.refusal(),
            Self::WriteContext { outcome, .. } => outcome.refusal(),
            Self::ReadContext { outcome, .. } => outcome.refusal(),
            Self::Exceed { .. } | Self::Health(_) | Self::Nemesis(_) => None,
        }
    }
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T> {
    /// It was carried out.
    Ok(T),
    /// It was not carried out, and never will be.
    Fail(Refusal),
    /// It may have been carried out, or yet be.
    Info(Refusal),
}

impl<T> Outcome<T> {
    /// Changes the answer, if there was one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Ok(answer) => Outcome::Ok(change(answer)),
            Self::Fail(refusal) => Outcome::Fail(refusal),
            Self::Info(refusal) => Outcome::Info(refusal),
        }
    }

    /// The answer, if there was one.
    pub fn ok(&self) -> Option<&T> {
        match self {
            Self::Ok(answer) => Some(answer),
            Self::Fail(_) | Self::Info(_) => None,
        }
    }

    /// Why there was no answer, if there was none.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Ok(_) => None,
            Self::Fail(refusal) | Self::Info(refusal) => Some(refusal),
        }
    }
}

/// Why an operation has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of problem the service told, or what became of the connection.
    pub code: String,
    /// The status the service told it with.
    pub status: Option<u16>,
    /// The seconds after which to come back, if it said.
    pub retry_after: Option<u64>,
}

/// An append of one or more messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Append {
    /// The chat.
    pub chat: String,
    /// The messages, in order.
    pub messages: Vec<Sent>,
    /// What came of it.
    pub outcome: Outcome<Answer>,
}

/// A message that was sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sent {
    /// Its id, given by the client.
    pub event_id: String,
    /// The hash of its body.
    pub hash: String,
}

/// The acknowledgement of an append.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answer {
    /// The chat's counter after it.
    pub last_sequence: u64,
    /// One for each message, in their order.
    pub messages: Vec<Placed>,
}

/// Where a message was put.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Placed {
    /// Its sequence.
    pub sequence: u64,
    /// Whether it was there already.
    pub duplicate: bool,
}

/// The reading of a page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Read {
    /// The chat.
    pub chat: String,
    /// After which sequence the page was to begin, -1 for the beginning; `None` for the newest.
    pub after: Option<i64>,
    /// The page.
    pub outcome: Outcome<Page>,
}

/// A page of messages.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Page {
    /// The chat's counter.
    pub last_sequence: u64,
    /// Whether there are further messages in the direction of reading.
    pub has_more: bool,
    /// The messages, oldest first.
    pub messages: Vec<super::StoredMessage>,
}

/// The reading of a transcript, which names neither sequences nor ids of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Replay {
    /// The chat.
    pub chat: String,
    /// The ids that the messages carry in their content, oldest first.
    pub outcome: Outcome<Vec<String>>,
}

/// A chat in the list.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Listed {
    /// The chat.
    pub chat: String,
    /// Its counter.
    pub last_sequence: u64,
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
