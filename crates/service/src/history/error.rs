use persistence::StoreError;
use resume::UnsettledCall;

use crate::problem::{Problem, ProblemKind};

/// Why a history cannot be returned, or ends early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HistoryError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Tool calls have no results, and the caller wants the history rejected in that case.
    #[error("{}", listed(.0))]
    Unsettled(Vec<UnsettledCall>),
    /// An item cannot be serialized.
    #[error("failed to write the history")]
    Unwritable(#[from] serde_json::Error),
}

impl From<HistoryError> for Problem {
    fn from(error: HistoryError) -> Self {
        match error {
            HistoryError::Store(error) => error.into(),
            HistoryError::Unsettled(calls) => {
                let detail = "the chat has tool calls without results; append the results, or choose another value of unsettled";
                Self::new(ProblemKind::UNSETTLED_TOOL_CALLS, detail).with_unsettled_calls(calls)
            }
            HistoryError::Unwritable(error) => {
                Self::new(ProblemKind::INTERNAL, "failed to write the response").caused_by(error)
            }
        }
    }
}

/// Returns the number of calls and the first ones.
fn listed(calls: &[UnsettledCall]) -> String {
    const SHOWN: usize = 5;
    let first: Vec<_> = calls.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if calls.len() > SHOWN { ", …" } else { "" };
    format!("{} tool calls without results: {}{more}", calls.len(), first.join(", "))
}
