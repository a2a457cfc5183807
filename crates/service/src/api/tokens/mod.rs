//! Wallets under the paths and in the shapes of `MozaiksAI`.

pub(crate) mod balance;
pub(crate) mod consume;
