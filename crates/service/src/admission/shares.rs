use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Units of something limited, of which each key may hold a number at a time.
///
/// A key that holds none takes no memory.
#[derive(Debug)]
pub(crate) struct Shares<K> {
    limit: usize,
    keys: Mutex<HashMap<K, Arc<Semaphore>>>,
}

/// The units that a key holds; dropping it gives them back.
#[derive(Debug)]
pub(crate) struct Share<K: Eq + Hash> {
    shares: Arc<Shares<K>>,
    key: K,
    /// `None` only while it is dropped.
    permit: Option<OwnedSemaphorePermit>,
}

impl<K: Clone + Eq + Hash> Shares<K> {
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.min(Semaphore::MAX_PERMITS);
        Self { limit, keys: Mutex::default() }
    }

    /// Takes units for a key; `None` if it would hold more than the limit.
    pub(crate) fn try_take(self: &Arc<Self>, key: &K, units: u32) -> Option<Share<K>> {
        let permit = self.semaphore(key).try_acquire_many_owned(units);
        let share = self.share(key, permit.ok());
        share.permit.is_some().then_some(share)
    }

    /// Takes units for a key, once it holds few enough others.
    pub(crate) async fn take(self: &Arc<Self>, key: &K, units: u32) -> Share<K> {
        // Made before the wait: a caller that gives up leaves no entry behind.
        let mut share = self.share(key, None);
        share.permit = self.semaphore(key).acquire_many_owned(units).await.ok();
        share
    }

    /// Returns the units that a key holds.
    pub(crate) fn held(&self, key: &K) -> usize {
        let keys = self.keys();
        keys.get(key).map_or(0, |semaphore| self.limit - semaphore.available_permits())
    }

    fn share(self: &Arc<Self>, key: &K, permit: Option<OwnedSemaphorePermit>) -> Share<K> {
        Share { shares: Arc::clone(self), key: key.clone(), permit }
    }

    fn semaphore(&self, key: &K) -> Arc<Semaphore> {
        let mut keys = self.keys();
        let semaphore =
            keys.entry(key.clone()).or_insert_with(|| Arc::new(Semaphore::new(self.limit)));
        Arc::clone(semaphore)
    }
}

impl<K> Shares<K> {
    fn keys(&self) -> MutexGuard<'_, HashMap<K, Arc<Semaphore>>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash> Share<K> {
    /// Gives back all but this many units.
    pub(crate) fn shrink_to(&mut self, units: u32) {
        shrink(&mut self.permit, units);
    }
}

/// Gives back all but this many units of a permit.
pub(super) fn shrink(permit: &mut Option<OwnedSemaphorePermit>, units: u32) {
    if let Some(permit) = permit {
        let excess = permit.num_permits().saturating_sub(units as usize);
        drop(permit.split(excess));
    }
}

impl<K: Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        drop(self.permit.take());
        let mut keys = self.shares.keys();
        // Other holders and waiters of the key have clones, taken under this lock.
        if keys.get(&self.key).is_some_and(|semaphore| Arc::strong_count(semaphore) == 1) {
            keys.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_holds_up_to_the_limit_and_none_takes_no_memory() {
        let shares = Arc::new(Shares::new(3));
        let one = shares.try_take(&"one", 2).unwrap();
        assert!(shares.try_take(&"one", 2).is_none());
        let other = shares.try_take(&"other", 3).unwrap();
        drop(one);
        assert!(shares.try_take(&"one", 3).is_some());
        drop(other);
        assert!(shares.keys().is_empty());
    }

    #[tokio::test]
    async fn a_caller_that_gives_up_waiting_leaves_nothing_behind() {
        let shares = Arc::new(Shares::new(1));
        let held = shares.take(&"one", 1).await;
        let waiting = shares.take(&"one", 1);
        assert!(tokio::time::timeout(std::time::Duration::from_millis(5), waiting).await.is_err());
        drop(held);
        assert!(shares.keys().is_empty());
    }
}
