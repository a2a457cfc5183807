//! Wallets, with the paths and shapes of `MozaiksAI`.

pub(crate) mod balance;
pub(crate) mod consume;
