use std::fmt::{self, Display, Formatter};

/// What kind of promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The sequences are not 0, 1, 2, … in the order of the messages.
    NotDense,
    /// A message is not the one that the workflow has there.
    OtherMessage,
    /// The workflow has more messages.
    Missing,
    /// There are more messages than the workflow has.
    Unexpected,
    /// A call has no result.
    Unanswered,
    /// A call has several results.
    AnsweredTwice,
    /// A result belongs to no call before it.
    Orphan,
    /// A tool ran more than once, and it is not marked.
    RanUnmarked,
    /// A run is marked although the plan did not say that there may have been one, or the other way round.
    WrongMark,
    /// A result was written by who did not run the tool.
    NeverRan,
    /// A message was written under an earlier lease than one before it.
    TokenDecreased,
    /// A message was written by somebody else than who alone could write by then.
    StaleWriter,
    /// Two had leases with one token.
    TokenGivenTwice,
    /// The chat is not completed and settled.
    NotEnded,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which kind of promise is broken.
    pub kind: Kind,
    /// What exactly.
    pub detail: String,
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.detail)
    }
}
