use async_trait::async_trait;
use records::{CallId, ChatId, NewMessage, NewProviderCall, Scope};

use super::{Append, Billing, Payment, RecordedCall};
use crate::StoreError;

/// Keeps messages together with the call of a model that produced them.
#[async_trait]
pub trait Exchanges: Send + Sync {
    /// Appends messages and records their call, all of it or nothing.
    ///
    /// The messages of the role `assistant` that do not say what produced them are linked to the call.
    /// The call must have an id: it is what makes the exchange safe to repeat, message ids do so for the
    /// messages as in [`append`](super::Messages::append). An ended chat takes nothing new, not even
    /// the call.
    async fn append_exchange(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        messages: Vec<NewMessage>,
        call: NewProviderCall,
        billing: Billing,
    ) -> Result<Exchange, StoreError>;

    /// Deletes a call: it counts no longer, and the messages that name it name none, which is an edit of
    /// each of them.
    ///
    /// One that is not there is [`CallNotFound`](StoreError::CallNotFound).
    async fn delete_call(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        call_id: &CallId,
    ) -> Result<(), StoreError>;
}

/// What came of an exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The messages.
    pub append: Append,
    /// The call.
    pub call: RecordedCall,
    /// Whether it was paid for.
    pub payment: Payment,
}
