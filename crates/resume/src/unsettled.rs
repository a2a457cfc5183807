use std::fmt;

use serde::Serialize;

/// What a rendering does with a message if not all of its calls have results.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnsettledPolicy {
    /// Removes the calls and keeps the content; drops the results of the removed calls.
    Remove,
    /// Adds a result for each call without one: an error which says that the call was interrupted.
    Settle,
    /// Drops the whole message and its results.
    Trim,
    /// Renders nothing and lists the calls.
    Reject,
    /// Renders the calls as they are: open. Providers refuse them, and programs that keep a transcript need them.
    Keep,
}

/// A call without a result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsettledCall {
    /// The sequence of the message that makes the call.
    pub sequence: u64,
    /// The id of the call; shortened if it is long.
    pub call_id: String,
    /// The function or tool that is called; shortened if it is long.
    pub name: String,
}

impl fmt::Display for UnsettledCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, call_id, name } = self;
        write!(f, "call {call_id} of {name} in message {sequence}")
    }
}

impl UnsettledPolicy {
    /// Every policy, in the order in which the documentation lists them.
    pub const ALL: [Self; 5] = [Self::Remove, Self::Settle, Self::Trim, Self::Reject, Self::Keep];

    /// Returns the name of the policy in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Settle => "settle",
            Self::Trim => "trim",
            Self::Reject => "reject",
            Self::Keep => "keep",
        }
    }

    /// Returns whether calls without results are shown as waiting: always, never, or where the dialect can show that.
    pub(crate) fn shows_open(policy: Option<Self>, dialect_waits: bool) -> bool {
        policy == Some(Self::Keep) || (policy.is_none() && dialect_waits)
    }

    /// Returns the policy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == name)
    }
}
