//! A store that fails, always in the same way.

use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::stream::{self, BoxStream, StreamExt as _};
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use persistence::{BoxError, StoreError};
use records::Message;
use tokio::time::sleep;

use crate::histories::{self, Meter};

/// How it fails.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Fault {
    Unavailable,
    OutcomeUnknown,
    Overloaded,
    Refused,
    Corrupt,
    UnsupportedVersion,
    UpgradePending,
    IndexingMetadata,
    Hang,
    Panic,
    /// Fails after so many messages of a history.
    BreakOff(usize),
    /// Has a history without an end.
    Endless(&'static Meter),
    /// Takes a while for each message of a short history.
    Trickle(Duration),
}

/// What a driver might say: never for the caller's eyes.
pub(crate) const DRIVER_SAYS: &str = "no server at mongodb://db.internal:27017";

/// The calls that create a chat and join it.
const CREATION_AND_JOIN: &[Call] =
    &[Call::GetApp, Call::CreateChat, Call::GetChat, Call::GetLastArtifact, Call::Heads];

/// Returns a store that fails at everything but the look-up of an app, which most routes begin with.
pub(crate) fn faulty(fault: Fault) -> Arc<MemoryStore> {
    faulty_except(&[Call::GetApp], fault)
}

/// Returns a store that fails at every call.
pub(crate) fn faulty_throughout(fault: Fault) -> Arc<MemoryStore> {
    faulty_except(&[], fault)
}

/// Returns a store whose chats can be created and joined, and nothing else.
pub(crate) fn faulty_once_joined(fault: Fault) -> Arc<MemoryStore> {
    faulty_except(CREATION_AND_JOIN, fault)
}

fn faulty_except(unharmed: &'static [Call], fault: Fault) -> Arc<MemoryStore> {
    Arc::new(MemoryStore::default().with_faults(Arc::new(Failing { fault, unharmed })))
}

#[derive(Debug)]
struct Failing {
    fault: Fault,
    unharmed: &'static [Call],
}

impl Failing {
    async fn fail<T>(&self) -> Result<T, StoreError> {
        let source = || BoxError::from(DRIVER_SAYS);
        Err(match self.fault {
            Fault::Unavailable | Fault::BreakOff(_) | Fault::Endless(_) | Fault::Trickle(_) => {
                StoreError::Unavailable {
                    retry_after: Duration::from_millis(1_500),
                    source: source(),
                }
            }
            Fault::OutcomeUnknown => StoreError::OutcomeUnknown { source: source() },
            Fault::Overloaded => StoreError::Overloaded { retry_after: Duration::from_secs(1) },
            Fault::Refused => StoreError::Refused { source: source() },
            Fault::Corrupt => StoreError::Corrupt {
                collection: "chat_sessions",
                id: "c1".to_owned(),
                field: "status".to_owned(),
                source: Some(source()),
            },
            Fault::UnsupportedVersion => StoreError::UnsupportedVersion {
                collection: "chat_sessions",
                id: "c1".to_owned(),
                found: 9,
                supported: 1,
            },
            Fault::UpgradePending => {
                StoreError::UpgradePending { shape: "forks", needed: 2, stored: 1 }
            }
            Fault::IndexingMetadata => StoreError::IndexingMetadata("customer".to_owned()),
            Fault::Hang => pending().await,
            Fault::Panic => panic!("the store panicked"),
        })
    }
}

#[async_trait]
impl Faults for Failing {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        if self.unharmed.contains(&call) { Ok(()) } else { self.fail().await }
    }

    fn history<'a>(
        &'a self,
        _: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        match self.fault {
            Fault::BreakOff(count) => histories::of(count).chain(stream::once(self.fail())).boxed(),
            Fault::Endless(meter) => histories::endless(meter).boxed(),
            Fault::Trickle(pause) => {
                histories::of(20).then(move |message| sleep(pause).map(|()| message)).boxed()
            }
            _ => stream::once(self.fail()).boxed(),
        }
    }
}
