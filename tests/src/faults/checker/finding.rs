use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

/// What kind of promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message was acknowledged and is not there.
    Lost,
    /// A message is there that nobody sent.
    Unexpected,
    /// A message is there although every answer said that nothing was changed.
    RefusedButStored,
    /// A batch was stored in part, or with something in its midst.
    TornBatch,
    /// An event id is there more than once.
    Repeated,
    /// The sequences are not 0, 1, 2, … in the order of the messages.
    NotDense,
    /// A number that is kept is not what it is derived from.
    WrongCounter,
    /// The service and its store tell different stories.
    StatesDiffer,
    /// A message has another sequence than it was acknowledged with.
    OtherSequence,
    /// A message has another body than was sent.
    OtherBody,
    /// Two appends of one event id both claim to have stored it.
    StoredTwice,
    /// A message was sent after another had been acknowledged, and stands before it.
    Reordered,
    /// A reader saw what is not there any more.
    Vanished,
    /// A reader saw a message at another place.
    Moved,
    /// A page is not a run of consecutive messages from where it was to begin.
    BrokenPage,
    /// A page ends before the newest message and says that there are no more.
    CutPage,
    /// A subscriber was not told of a message that came after what it held.
    NotTold,
    /// A subscriber was told of a message more than once.
    ToldTwice,
    /// A subscriber was told of a message after those behind it.
    ToldLate,
    /// A snapshot that was acknowledged later was overwritten by an earlier one.
    LostSnapshot,
    /// A chat is missing in a list, or there twice.
    WrongList,
    /// A caller was refused with a code that this trial has no reason for.
    UnexpectedCode,
    /// A caller was told to come back, but not when.
    NoRetryAfter,
    /// What exceeds a limit was not refused as documented.
    LimitNotKept,
    /// An operation took longer than its deadline.
    Late,
    /// The fault did not take effect, so the trial proves nothing.
    DidNotFire,
    /// After healing, something did not go on.
    Stuck,
    /// A promise about this very fault is broken.
    Fault,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which kind of promise is broken.
    pub kind: Kind,
    /// In which chat, if in one.
    pub chat: Option<String>,
    /// What exactly.
    pub detail: String,
}

impl Finding {
    /// Something that is wrong with a chat.
    pub fn in_chat(kind: Kind, chat: &str, detail: impl Into<String>) -> Self {
        Self { kind, chat: Some(chat.to_owned()), detail: detail.into() }
    }

    /// Something that is wrong altogether.
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
