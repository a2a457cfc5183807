use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// What kind of promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message was acknowledged and is not stored.
    Lost,
    /// A message is stored that no client sent.
    Unexpected,
    /// A message is stored although every response said that nothing was changed.
    RefusedButStored,
    /// A batch was stored in part, or with other messages in its midst.
    TornBatch,
    /// An event id is stored more than once.
    Repeated,
    /// The sequences are not 0, 1, 2, … in the order of the messages.
    NotDense,
    /// A stored number differs from its derived value.
    WrongCounter,
    /// The documents of a chat do not fit together.
    Misfit,
    /// The service and its store differ.
    StatesDiffer,
    /// The stored sequence of a message differs from the acknowledged one.
    OtherSequence,
    /// A message has another body than was sent.
    OtherBody,
    /// Two appends of one event id both claim to have stored it.
    StoredTwice,
    /// A message was sent after another had been acknowledged, and comes before it.
    Reordered,
    /// A reader saw a message that is no longer stored.
    Vanished,
    /// A reader saw a message at another position.
    Moved,
    /// A page is not a sequence of consecutive messages from its requested beginning.
    BrokenPage,
    /// A page ends before the newest message and reports that there are no more.
    CutPage,
    /// A subscriber did not receive a message after its position.
    NotTold,
    /// A subscriber received a message more than once.
    ToldTwice,
    /// A subscriber received a message after later ones.
    ToldLate,
    /// A snapshot that was acknowledged later was overwritten by an earlier one.
    LostSnapshot,
    /// A document lacks a write that was acknowledged.
    LostWrite,
    /// A document has a write twice, or one that was refused or never sent.
    RepeatedWrite,
    /// A chat is missing in a list, or listed twice.
    WrongList,
    /// A caller got an error code that the fault does not explain.
    UnexpectedCode,
    /// A caller was asked to retry without a time.
    NoRetryAfter,
    /// A request beyond a limit was not refused as documented.
    LimitNotKept,
    /// An operation took longer than its deadline.
    Late,
    /// The fault did not take effect, so the trial proves nothing.
    DidNotFire,
    /// After healing, something did not continue.
    Stuck,
    /// A promise about this very fault is broken.
    Fault,
}

/// A violation of a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which kind of promise is broken.
    pub kind: Kind,
    /// The chat, if the finding concerns one.
    pub chat: Option<String>,
    /// The details.
    pub detail: String,
}

impl Finding {
    /// A finding about a chat.
    pub fn in_chat(kind: Kind, chat: &str, detail: impl Into<String>) -> Self {
        Self { kind, chat: Some(chat.to_owned()), detail: detail.into() }
    }

    /// A finding about no single chat.
    pub fn of(kind: Kind, detail: impl Into<String>) -> Self {
        Self { kind, chat: None, detail: detail.into() }
    }
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind)?;
        if let Some(chat) = &self.chat {
            write!(f, " in {chat}")?;
        }
        write!(f, ": {}", self.detail)
    }
}
