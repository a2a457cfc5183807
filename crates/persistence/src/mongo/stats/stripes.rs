use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};

use records::{AppId, WorkflowName};
use tokio::sync::{Semaphore, SemaphorePermit};

/// Assigns stripes to transactions. A stripe is one of several documents that count the same,
/// because concurrent transactions on one document conflict.
///
/// A transaction gets the lowest free stripe, so that a workflow has no more stripes than it needs
/// at once. Other processes assign the same stripes; after a conflict with one of theirs, a
/// transaction takes a higher stripe.
#[derive(Debug)]
pub(crate) struct Stripes {
    hasher: RandomState,
    /// One place for each workflow. Workflows may share a place, which is harmless.
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    /// One permit for each free stripe.
    free: Semaphore,
    /// One bit for each stripe in use.
    taken: AtomicU32,
}

/// A stripe that no other transaction of this process uses until this is dropped.
#[derive(Debug)]
pub(crate) struct Stripe<'a> {
    number: u32,
    place: &'a Place,
    _permit: Option<SemaphorePermit<'a>>,
}

impl Default for Stripes {
    fn default() -> Self {
        let place =
            || Place { free: Semaphore::new(Self::COUNT as usize), taken: AtomicU32::default() };
        Self { hasher: RandomState::new(), places: (0..Self::PLACES).map(|_| place()).collect() }
    }
}

impl Stripes {
    const PLACES: usize = 1 << 10;

    /// The number of stripes of a workflow. More would not be faster with a service close to its
    /// database, and each stripe is one more set of documents to read and add up.
    const COUNT: u32 = 4;

    /// Takes a stripe of a workflow as soon as one is free, at or above `from` if possible.
    pub(crate) async fn take(
        &self,
        app_id: &AppId,
        workflow_name: &WorkflowName,
        from: u32,
    ) -> Stripe<'_> {
        let place = self.hasher.hash_one((app_id, workflow_name)) % Self::PLACES as u64;
        let place = &self.places[usize::try_from(place).unwrap_or_default()];
        // The semaphore is never closed, so `acquire` always succeeds.
        let permit = place.free.acquire().await.ok();
        Stripe { number: place.take(from % Self::COUNT), place, _permit: permit }
    }
}

impl Place {
    /// Takes the first free stripe; each permit guarantees one.
    fn take(&self, from: u32) -> u32 {
        let free = |taken: u32| {
            let free = !taken & ((1 << Stripes::COUNT) - 1);
            let above = free >> from << from;
            if above == 0 { free.trailing_zeros() } else { above.trailing_zeros() }
        };
        let with = |taken: u32| Some(taken | 1 << free(taken));
        let before = self.taken.fetch_update(Ordering::AcqRel, Ordering::Acquire, with);
        free(before.unwrap_or_else(|taken| taken))
    }
}

impl Stripe<'_> {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }
}

impl Drop for Stripe<'_> {
    fn drop(&mut self) {
        // The bit is cleared before the permit is released.
        self.place.taken.fetch_and(!(1 << self.number), Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt as _;

    use super::*;

    #[tokio::test]
    async fn each_stripe_is_used_by_one_transaction_at_a_time() {
        let stripes = Stripes::default();
        let (app, hot): (AppId, WorkflowName) = ("a".parse().unwrap(), "hot".parse().unwrap());
        let take = async |from| stripes.take(&app, &hot, from).await;
        for _ in 0..3 {
            assert_eq!(take(0).await.number(), 0, "the last one was dropped");
        }
        let (first, second) = (take(0).await, take(0).await);
        assert_eq!((first.number(), second.number()), (0, 1));
        drop(first);
        assert_eq!(take(1).await.number(), 2, "the first two conflict with another process");
        let mut all = Vec::new();
        for _ in 1..Stripes::COUNT {
            all.push(take(2).await);
        }
        let mut numbers: Vec<_> = all.iter().map(Stripe::number).collect();
        numbers.push(second.number());
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..Stripes::COUNT));
        assert!(stripes.take(&app, &hot, 0).now_or_never().is_none());
        drop(second);
        assert_eq!(take(2).await.number(), 1, "the only free one");
    }
}
