//! The calls of models that a chat has made: recorded, listed, added up.

mod fields;
mod payment;

pub(crate) mod delete;
pub(crate) mod list;
pub(crate) mod record;

pub(crate) use fields::CallFields;
pub(crate) use payment::PaymentFields;
