//! The payment for calls, shared by both stores.

use records::{ChatSession, EntryId, NewWalletEntry, UserId};

use crate::StoreError;
use crate::rules::call_batch::DigestedCall;
use crate::store::{Billing, Payment};

/// A debit of a wallet for calls.
#[derive(Debug)]
pub(crate) struct Bill {
    pub(crate) user_id: UserId,
    pub(crate) entry: NewWalletEntry,
}

impl Bill {
    /// Returns the bill for calls of a chat, if the chat has a user and the calls used tokens.
    pub(crate) fn of(
        chat: &ChatSession,
        calls: &[&DigestedCall],
        billing: Billing,
        recording_id: &str,
    ) -> Option<Self> {
        let user_id = chat.user_id.clone().filter(|_| billing == Billing::Wallet)?;
        let tokens: u64 = calls.iter().map(|kept| kept.call.tokens.total).sum();
        let amount = i64::try_from(tokens).ok().filter(|amount| *amount > 0)?;
        let entry_id = EntryId::parse(recording_id).ok()?;
        let reason = Some(format!("calls of {}", chat.chat_id));
        Some(Self { user_id, entry: NewWalletEntry { entry_id, amount, reason } })
    }

    /// Returns the result for a wallet that holds fewer tokens.
    pub(crate) fn unpaid(&self, balance: i64) -> Payment {
        Payment::Unpaid { balance, amount: self.entry.amount }
    }

    /// Returns the reason for which the chat is paused then.
    pub(crate) fn pause_reason(balance: i64, amount: i64) -> String {
        format!("insufficient tokens: {balance} are left, the last calls took {amount}")
    }
}

/// Converts the refusal of a debit into the payment. Other errors are returned.
pub(crate) fn refused(bill: &Bill, refusal: StoreError) -> Result<Payment, StoreError> {
    match refusal {
        StoreError::InsufficientTokens { balance, .. } => Ok(bill.unpaid(balance)),
        other => Err(other),
    }
}
