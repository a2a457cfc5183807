use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{CallId, ChatId, NewProviderCall, ProviderCall, Scope, Usage, WalletEntry};

use super::Outcome;
use crate::StoreError;

/// Records the model calls of a chat.
#[async_trait]
pub trait Calls: Send + Sync {
    /// Records calls, all or none, and counts their usage.
    ///
    /// A repeated `call_id` returns the recorded call and is counted once; with another body it is
    /// [`CallConflict`](StoreError::CallConflict). An ended chat accepts calls, because some are
    /// known only after its end.
    ///
    /// With [`Billing::Wallet`], the tokens of all new calls are debited from the wallet of the
    /// chat's user, if the chat has a user: all of them or none. If the wallet holds fewer tokens,
    /// or there is no wallet, a running chat is paused. The calls are recorded nevertheless,
    /// because they were made.
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

    /// Summarizes the calls of each of these chats in which the caller has the permission of the scope. The order of the
    /// summaries is not defined.
    async fn summarize_calls(
        &self,
        scope: &Scope,
        chat_ids: &[ChatId],
    ) -> Result<Vec<CallSummary>, StoreError>;

    /// Returns the summed usage of all calls of a chat.
    async fn chat_usage(&self, scope: &Scope, chat_id: &ChatId) -> Result<Usage, StoreError>;
}

/// What the calls of a chat were, for lists of chats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallSummary {
    /// The chat.
    pub chat_id: ChatId,
    /// The summed usage of all of its calls.
    pub usage: Usage,
    /// The newest call by `called_at` and then by id.
    pub newest: Option<ProviderCall>,
}

/// Whether calls are paid for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Billing {
    /// The calls are not paid for.
    #[default]
    Free,
    /// The wallet of the chat's user pays for the calls.
    Wallet,
}

/// The result of the payment for calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Payment {
    /// There was nothing to pay for.
    None,
    /// The wallet was debited with this entry.
    Paid(WalletEntry),
    /// The wallet did not hold enough tokens, and nothing was debited. A running chat was paused.
    Unpaid {
        /// The balance of the wallet.
        balance: i64,
        /// The tokens of the calls.
        amount: i64,
    },
}

/// The result of recording calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recording {
    /// The calls, in the order of the request.
    pub calls: Vec<RecordedCall>,
    /// The payment. Repeated calls are not paid for again, and their earlier payment is not returned.
    pub payment: Payment,
}

/// The result of recording one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedCall {
    /// The call as stored.
    pub call: ProviderCall,
    /// Whether this request recorded the call.
    pub outcome: Outcome,
}

/// A position in a list of calls: right after this call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallCursor {
    /// When the call was made.
    pub called_at: DateTime<Utc>,
    /// The id of the call.
    pub call_id: CallId,
}

/// A page of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallPage {
    /// The calls.
    pub calls: Vec<ProviderCall>,
    /// The position of the next page, if there is a next page.
    pub next: Option<CallCursor>,
}

impl CallPage {
    /// Makes a page of the first `limit` calls.
    pub(crate) fn cut(mut calls: Vec<ProviderCall>, limit: usize) -> Self {
        let last = super::cut(&mut calls, limit);
        let cursor = |call: &ProviderCall| CallCursor {
            called_at: call.called_at,
            call_id: call.call_id.clone(),
        };
        Self { next: last.map(cursor), calls }
    }
}
