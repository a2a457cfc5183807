//! The calls of model providers that a chat has made, and their usage.

mod fields;
mod payment;

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod record;

pub(crate) use fields::CallFields;
pub(crate) use payment::PaymentFields;
