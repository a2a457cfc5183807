use std::fmt;

use serde::Serialize;

/// What becomes of a message whose calls are not all answered directly after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Unsettled {
    /// It loses its calls and keeps what it says; the results it got are dropped.
    #[default]
    Remove,
    /// Each call without a result gets one, marked as an error, which says that it was interrupted.
    Settle,
    /// It is left out whole, with the results it got.
    Trim,
    /// Nothing is rendered at all; the calls are listed.
    Reject,
}

/// A call that is not answered directly.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct UnsettledCall {
    /// The position in the chat of the message that makes it.
    pub sequence: u64,
    /// The call; shortened when it is long.
    pub call_id: String,
    /// What is called; shortened when it is long.
    pub name: String,
}

impl fmt::Display for UnsettledCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sequence, call_id, name } = self;
        write!(f, "call {call_id} of {name} in message {sequence}")
    }
}

impl Unsettled {
    /// Every policy, in the order in which they are listed.
    pub const ALL: [Self; 4] = [Self::Remove, Self::Settle, Self::Trim, Self::Reject];

    /// Names the policy in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Remove => "remove",
            Self::Settle => "settle",
            Self::Trim => "trim",
            Self::Reject => "reject",
        }
    }

    /// Returns the policy of that name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == name)
    }
}
