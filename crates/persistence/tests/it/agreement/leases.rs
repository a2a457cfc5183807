use std::time::Duration;

use persistence::Store;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{AppId, ChatId, LeaseId, NewLease, Owner, Scope};

use super::operation::print;

/// A call about leases, with its arguments.
#[derive(Debug, Clone)]
pub(crate) enum LeaseCall {
    Acquire(NewLease),
    Renew(u64, Duration),
    Release(u64),
    /// Interrupts chats of all apps.
    Interrupt,
}

impl LeaseCall {
    pub(crate) async fn execute(
        self,
        store: &dyn Store,
        apps: &[AppId],
        scope: &Scope,
        chat_id: &ChatId,
    ) -> String {
        match self {
            Self::Acquire(new) => print(store.acquire_lease(scope, chat_id, new).await),
            Self::Renew(token, ttl) => print(store.renew_lease(scope, chat_id, token, ttl).await),
            Self::Release(token) => print(store.release_lease(scope, chat_id, token).await),
            Self::Interrupt => {
                let mut interrupted = store.interrupt_abandoned(usize::MAX).await.unwrap();
                interrupted.retain(|interrupted| apps.contains(&interrupted.app_id));
                interrupted.sort_by(|a, b| a.chat_id.cmp(&b.chat_id));
                print(interrupted)
            }
        }
    }
}

pub(crate) fn lease_call() -> impl Strategy<Value = LeaseCall> {
    prop_oneof![
        5 => new_lease().prop_map(LeaseCall::Acquire),
        2 => (token(), ttl()).prop_map(|(token, ttl)| LeaseCall::Renew(token, ttl)),
        2 => token().prop_map(LeaseCall::Release),
        2 => Just(LeaseCall::Interrupt),
    ]
}

/// Generates tokens that are used early.
pub(crate) fn token() -> impl Strategy<Value = u64> {
    1..4_u64
}

fn ttl() -> impl Strategy<Value = Duration> {
    // The clock advances by more than a second at a time.
    select(vec![0, 1_000, 1_234, 20_000]).prop_map(Duration::from_millis)
}

fn new_lease() -> impl Strategy<Value = NewLease> {
    let lease_id = option::of((0..2_u32).prop_map(|n| LeaseId::parse(format!("l{n}")).unwrap()));
    let owner = select(vec!["one", "two"]).prop_map(|owner| Owner::parse(owner).unwrap());
    (lease_id, owner, ttl()).prop_map(|(lease_id, owner, ttl)| NewLease { lease_id, owner, ttl })
}
