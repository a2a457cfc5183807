use crate::client::CallError;

/// How an orchestrator came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The workflow is complete.
    Completed,
    /// Somebody else carries the chat on.
    Fenced,
    /// It was told to stop.
    Terminated,
}

/// Why an orchestrator does not go on.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// Its lease is gone.
    #[error("somebody else carries the chat on")]
    Fenced,
    /// It, or the service, does not do what it should.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Fenced, Self::Terminated];

    /// The exit code it is told by; 1 is for failures.
    pub fn code(self) -> u8 {
        match self {
            Self::Completed => 0,
            Self::Fenced => 3,
            Self::Terminated => 4,
        }
    }
}

impl From<CallError> for Stop {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(problem) if problem.kind == "fenced" => Self::Fenced,
            error => Self::Failed(error.into()),
        }
    }
}
