//! Wallets: the tokens of a user within an app.

mod request;
mod response;

pub(crate) mod credit;
pub(crate) mod debit;
pub(crate) mod ensure;
pub(crate) mod entries;
pub(crate) mod get;

pub(crate) use request::CreditRequest;
pub(crate) use response::{ChangeResponse, EntryResponse, WalletResponse};
