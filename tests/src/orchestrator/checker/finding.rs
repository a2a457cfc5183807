use std::fmt::{self, Display, Formatter};

/// What kind of promise is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The sequences are not 0, 1, 2, … in the order of the messages.
    NotDense,
    /// A message differs from that of the workflow.
    OtherMessage,
    /// Messages are missing at the end.
    Missing,
    /// There are more messages than in the workflow.
    Unexpected,
    /// A call has no result.
    Unanswered,
    /// A call has several results.
    AnsweredTwice,
    /// A result belongs to no call before it.
    Orphan,
    /// A tool ran more than once without a mark.
    RanUnmarked,
    /// A run is marked although the plan reported no possible earlier run, or the reverse.
    WrongMark,
    /// A result was written by an orchestrator that did not run the tool.
    NeverRan,
    /// A message was written under an earlier lease than one before it.
    TokenDecreased,
    /// A message was written by another orchestrator than the one that held the lease.
    StaleWriter,
    /// Two leases have the same token.
    TokenGivenTwice,
    /// The chat is not completed, or its plan leaves work.
    NotEnded,
}

/// A violation of a promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Which kind of promise is broken.
    pub kind: Kind,
    /// The details.
    pub detail: String,
}

impl Display for Finding {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.kind, self.detail)
    }
}
