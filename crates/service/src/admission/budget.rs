use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

use super::shares::{Share, Shares, shrink};
use super::subject::Subject;
use crate::config::LimitsConfig;
use crate::problem::{Problem, ProblemKind};

/// When to retry a request for which there was no memory.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The unit of the budget, in bytes.
const UNIT: usize = 1 << 10;

/// The memory of the process for what it parses and reads on behalf of callers.
///
/// Requests are admitted by it: one that does not fit waits for others to end. A subject holds at most a
/// part of the budget, so that others find room.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    free: Arc<Semaphore>,
    of_subjects: Arc<Shares<Subject>>,
    /// The units that one subject may hold.
    share: u32,
    max_wait: Duration,
}

/// The part of the budget that one subject may hold.
#[derive(Debug, Clone)]
pub(crate) struct SubjectMemory {
    budget: Arc<MemoryBudget>,
    subject: Subject,
}

/// Reserved memory; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Reservation {
    of_subject: Share<Subject>,
    of_process: Option<OwnedSemaphorePermit>,
}

impl MemoryBudget {
    pub(crate) fn new(limits: &LimitsConfig) -> Self {
        let share = units(limits.memory_bytes_per_subject);
        Self {
            free: Arc::new(Semaphore::new(units(limits.memory_bytes) as usize)),
            of_subjects: Arc::new(Shares::new(share as usize)),
            share,
            max_wait: limits.memory_wait(),
        }
    }

    pub(crate) fn of(self: &Arc<Self>, subject: Subject) -> SubjectMemory {
        SubjectMemory { budget: Arc::clone(self), subject }
    }
}

impl SubjectMemory {
    /// Reserves memory, at most the share of a subject; waits for it up to the configured time.
    pub(crate) async fn reserve(&self, bytes: usize) -> Result<Reservation, Problem> {
        let reserved = timeout(self.budget.max_wait, self.reserve_patiently(bytes)).await;
        reserved.map_err(|_| {
            let detail = "the memory for requests is in use and nothing was changed; retry after Retry-After seconds, with fewer or smaller requests at a time";
            Problem::new(ProblemKind::OVERLOADED, detail).with_retry_after(RETRY_AFTER)
        })
    }

    /// Reserves memory, at most the share of a subject, however long that takes.
    pub(crate) async fn reserve_patiently(&self, bytes: usize) -> Reservation {
        let units = units(bytes).min(self.budget.share);
        let of_subject = self.budget.of_subjects.take(&self.subject, units).await;
        let of_process = Arc::clone(&self.budget.free).acquire_many_owned(units).await.ok();
        Reservation { of_subject, of_process }
    }
}

impl Reservation {
    /// Returns the size, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.of_process.as_ref().map_or(0, |permit| permit.num_permits() * UNIT)
    }

    /// Gives back all but this many bytes.
    pub(crate) fn shrink_to(&mut self, bytes: usize) {
        let units = units(bytes);
        self.of_subject.shrink_to(units);
        shrink(&mut self.of_process, units);
    }
}

fn units(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(UNIT)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget() -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget::new(&LimitsConfig {
            memory_bytes: 16 << 10,
            memory_bytes_per_subject: 4 << 10,
            memory_wait_ms: 5,
            ..LimitsConfig::default()
        }))
    }

    #[tokio::test]
    async fn a_subject_holds_its_share_and_leaves_room_for_others() {
        let (budget, subject) =
            (budget(), |number: u8| Subject::Address(Some([127, 0, 0, number].into())));
        let one = budget.of(subject(1));
        let held = one.reserve(4 << 10).await.unwrap();
        let refused = one.reserve(1).await.unwrap_err();
        assert_eq!(
            (refused.kind(), refused.retry_after()),
            (ProblemKind::OVERLOADED, Some(RETRY_AFTER))
        );
        let mut others = Vec::new();
        for number in 2..5 {
            others.push(budget.of(subject(number)).reserve(1 << 20).await.unwrap());
        }
        assert!(budget.of(subject(5)).reserve(1).await.is_err(), "the budget is held");
        drop(held);
        assert!(budget.of(subject(5)).reserve(4 << 10).await.is_ok());
    }

    #[tokio::test]
    async fn what_is_given_back_can_be_reserved() {
        let memory = budget().of(Subject::Address(None));
        let mut held = memory.reserve(4 << 10).await.unwrap();
        held.shrink_to(1 << 10);
        assert_eq!(held.bytes(), 1 << 10);
        assert!(memory.reserve(3 << 10).await.is_ok());
    }
}
