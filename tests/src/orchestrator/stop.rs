use crate::client::CallError;

/// How an orchestrator ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The workflow is complete.
    Completed,
    /// Another owner holds the lease.
    Fenced,
    /// It was asked to stop.
    Terminated,
}

/// Why an orchestrator stops.
#[derive(Debug, thiserror::Error)]
pub(super) enum Stop {
    /// Its lease is gone.
    #[error("another owner holds the lease of the chat")]
    Fenced,
    /// It, or the service, failed.
    #[error(transparent)]
    Failed(#[from] anyhow::Error),
}

impl Ending {
    /// Every ending.
    pub const ALL: [Self; 3] = [Self::Completed, Self::Fenced, Self::Terminated];

    /// Its exit code; 1 is for failures.
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
