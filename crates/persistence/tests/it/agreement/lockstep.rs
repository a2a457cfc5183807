use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use chrono::{DateTime, TimeDelta, Utc};
use records::{Clock, Ids, Uuid7Ids};

/// Counts the steps of a case. Within a step the time does not change, and every store with
/// [`ids`](Lockstep::ids) mints the same ids.
#[derive(Debug)]
pub(crate) struct Lockstep {
    run: String,
    step: AtomicU64,
}

impl Lockstep {
    pub(crate) fn start() -> Arc<Self> {
        let run = Uuid7Ids.mint("");
        let step = AtomicU64::new(0);
        Arc::new(Self { run, step })
    }

    pub(crate) fn advance(&self) {
        self.step.fetch_add(1, Ordering::SeqCst);
    }

    /// Returns the id source of one store.
    pub(crate) fn ids(self: &Arc<Self>) -> Arc<dyn Ids> {
        Arc::new(StepIds { lockstep: Arc::clone(self), minted: Mutex::default() })
    }

    fn step(&self) -> u64 {
        self.step.load(Ordering::SeqCst)
    }
}

/// Returns the time of a step: three steps have the same time.
pub(crate) fn moment(step: u64) -> DateTime<Utc> {
    let moments = i64::try_from(step / 3).unwrap_or_default();
    DateTime::UNIX_EPOCH + TimeDelta::days(20_000) + TimeDelta::milliseconds(1_234 * moments)
}

impl Clock for Lockstep {
    fn now(&self) -> DateTime<Utc> {
        moment(self.step())
    }
}

/// Numbers the ids of a step separately for each prefix, so that a store that mints additional ids
/// still agrees with one that does not.
#[derive(Debug)]
struct StepIds {
    lockstep: Arc<Lockstep>,
    minted: Mutex<(u64, HashMap<String, u64>)>,
}

impl Ids for StepIds {
    fn mint(&self, prefix: &str) -> String {
        let step = self.lockstep.step();
        let mut minted = self.minted.lock().unwrap();
        if minted.0 != step {
            *minted = (step, HashMap::new());
        }
        let number = minted.1.entry(prefix.to_owned()).or_default();
        *number += 1;
        format!("{prefix}{}_{step:04}_{number:04}", self.lockstep.run)
    }
}
