use persistence::StoreError;
use resume::UnsettledCall;

/// Why there is no history, or not all of it.
#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    /// The store could not be read.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// Calls have no results, and the caller wants nothing then.
    #[error("{}", listed(.0))]
    Unsettled(Vec<UnsettledCall>),
    /// A part of it cannot be written.
    #[error("the history cannot be written")]
    Unwritable(#[from] serde_json::Error),
}

/// Says how many calls there are, and which the first ones are.
fn listed(calls: &[UnsettledCall]) -> String {
    const SHOWN: usize = 5;
    let first: Vec<_> = calls.iter().take(SHOWN).map(ToString::to_string).collect();
    let more = if calls.len() > SHOWN { ", …" } else { "" };
    format!("{} without a result: {}{more}", calls.len(), first.join(", "))
}
