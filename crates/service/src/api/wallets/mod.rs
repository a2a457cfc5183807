//! Wallets: the tokens of a user within an app.

mod request;

pub(crate) mod credit;
pub(crate) mod debit;
pub(crate) mod ensure;
pub(crate) mod entries;
pub(crate) mod get;

use persistence::Written;
use records::{UserId, WalletEntry};

use crate::api::created::Created;
use crate::wire::ChangeResponse;

pub(crate) use request::CreditRequest;

/// Answers a credit or a debit.
fn changed(user_id: UserId, entry: Written<WalletEntry>) -> Created<ChangeResponse> {
    let Written { record, outcome } = entry;
    Created::new(ChangeResponse::new(user_id, Some(record)), outcome)
}
