use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{CallId, ChatId, NewProviderCall, ProviderCall, Scope, Usage, WalletEntry};

use super::Outcome;
use crate::StoreError;

/// Records the calls of models that a chat has made.
#[async_trait]
pub trait Calls: Send + Sync {
    /// Records calls, all or none, and counts them.
    ///
    /// A `call_id` recorded already is answered with the call of then and counted once; with another
    /// body it is [`CallConflict`](StoreError::CallConflict). An ended chat takes calls: some are
    /// known only when it is over.
    ///
    /// Where they are billed, the tokens of those that are new are taken from the wallet of the chat's
    /// user, if the chat has one, all of them or none. A wallet that holds less, or none, pauses a
    /// running chat: the calls were made all the same, and are recorded.
    async fn record_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        calls: Vec<NewProviderCall>,
        billing: Billing,
    ) -> Result<Recording, StoreError>;

    /// Lists the calls of a chat, newest first by `called_at` and then by id.
    async fn list_calls(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        limit: usize,
        after: Option<&CallCursor>,
    ) -> Result<CallPage, StoreError>;

    /// Returns what all calls of a chat took together.
    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError>;
}

/// Whether calls are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Billing {
    /// Nobody pays for them.
    #[default]
    Free,
    /// The chat's user does, with the tokens of their wallet.
    Wallet,
}

/// What came of paying for calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payment {
    /// There was nothing to pay for.
    None,
    /// This was taken from the wallet.
    Paid(WalletEntry),
    /// The wallet did not hold enough, and nothing was taken; the chat does not run on.
    Unpaid {
        /// What it held.
        balance: i64,
        /// What the calls took.
        amount: i64,
    },
}

/// What came of recording calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The calls, in the order they were given.
    pub calls: Vec<RecordedCall>,
    /// Whether they were paid for. A repeat pays nothing, and does not tell what was paid before.
    pub payment: Payment,
}

/// A call that was to be recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    /// The call as it is kept.
    pub call: ProviderCall,
    /// Whether this recorded it.
    pub outcome: Outcome,
}

/// A position in a list of calls: right after the one it names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCursor {
    /// When that call was made.
    pub called_at: DateTime<Utc>,
    /// Its id.
    pub call_id: CallId,
}

/// A page of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPage {
    /// The calls.
    pub calls: Vec<ProviderCall>,
    /// Where the next page begins, when there is one.
    pub next: Option<CallCursor>,
}

impl CallPage {
    /// Makes a page of the first `limit` of the calls given.
    pub(crate) fn cut(mut calls: Vec<ProviderCall>, limit: usize) -> Self {
        let last = super::cut(&mut calls, limit);
        let cursor = |call: &ProviderCall| CallCursor {
            called_at: call.called_at,
            call_id: call.call_id.clone(),
        };
        Self { next: last.map(cursor), calls }
    }
}
