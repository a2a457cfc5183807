use async_trait::async_trait;
use records::{CallId, ChatId, NewMessage, NewProviderCall, Scope};

use super::{Append, Billing, Payment, RecordedCall};
use crate::StoreError;

/// Stores messages together with the model call that produced them.
#[async_trait]
pub trait Exchanges: Send + Sync {
    /// Appends messages and records their call, all or nothing.
    ///
    /// Messages of the role `assistant` that do not name a call are linked to this one. The call
    /// must have an id, which makes the exchange safe to repeat; message ids do the same for the
    /// messages, as in [`append`](super::Messages::append). An ended chat accepts nothing new, not
    /// even the call.
    async fn append_exchange(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        call: NewProviderCall,
        billing: Billing,
    ) -> Result<Exchange, StoreError>;

    /// Deletes a call: it is excluded from usage. Messages that name it then name no call, which
    /// counts as an edit of each of them.
    ///
    /// Idempotent: without such a call it changes nothing.
    async fn delete_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), StoreError>;
}

/// The result of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The messages.
    pub append: Append,
    /// The call.
    pub call: RecordedCall,
    /// The payment for the call.
    pub payment: Payment,
}
