//! What callers may use at the same time: requests are admitted by what is free, not by hope.

mod address;
mod budget;
mod failed_attempts;
mod held_body;
mod rates;
mod request_memory;
mod shares;
mod subject;

pub use address::Peer;
pub(crate) use address::{CallerAddress, TrustedProxies, network_of};
pub(crate) use budget::{MemoryBudget, Reservation, SubjectMemory};
pub(crate) use failed_attempts::{FailedAttempts, has_credentials};
pub(crate) use held_body::HeldBody;
pub(crate) use rates::{Rates, Remaining};
pub(crate) use request_memory::{RequestMemory, Reserve};
pub(crate) use shares::{Share, Shares};
pub(crate) use subject::Subject;
