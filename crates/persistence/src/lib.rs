#![doc = include_str!("../README.md")]

pub mod store;
pub use store::*;

mod error;
pub use error::{BoxError, StoreError};

pub mod metrics;

pub mod turn;

mod rules;

pub mod memory;
pub mod mongo;
