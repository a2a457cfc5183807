use std::sync::Arc;
use std::time::Duration;

use backon::{BackoffBuilder, ExponentialBuilder};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};

use super::shares::{Share, Shares, shrink};
use super::subject::Subject;
use crate::config::LimitsConfig;
use crate::problem::{Problem, ProblemKind};

/// When to retry a request for which there was no memory.
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// The longest pause of a request that waits for memory.
const LONGEST_PAUSE: Duration = Duration::from_millis(100);

/// The unit of the budget, in bytes.
const UNIT: usize = 1 << 10;

/// The memory of the process for what it parses and reads on behalf of callers.
///
/// Requests are admitted by it: one that does not fit waits for others to end. A subject holds at most a
/// part of the budget, so that others find room; of the last quarter it gets the less, the less is left.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    free: Arc<Semaphore>,
    /// What each subject holds or waits for.
    of_subjects: Arc<Shares<Subject>>,
    /// What each subject holds.
    admitted: Arc<Shares<Subject>>,
    /// As long as this many units stay free, a subject may take what it wants of its share. It is a quarter of the budget, or less.
    last_quarter: usize,
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
    admitted: Share<Subject>,
    of_process: Option<OwnedSemaphorePermit>,
}

impl MemoryBudget {
    pub(crate) fn new(limits: &LimitsConfig) -> Self {
        let share = units(limits.memory_bytes_per_subject);
        let all = units(limits.memory_bytes) as usize;
        Self {
            free: Arc::new(Semaphore::new(all)),
            of_subjects: Arc::new(Shares::new(share as usize)),
            admitted: Arc::new(Shares::new(share as usize)),
            // A subject can use its whole share while only one other holds its own.
            last_quarter: (all / 4).min(all.saturating_sub(2 * share as usize)),
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
        let mut pauses = pauses();
        loop {
            if let Some((admitted, of_process)) = self.admit(units) {
                return Reservation { of_subject, admitted, of_process: Some(of_process) };
            }
            sleep(pauses.next().unwrap_or(LONGEST_PAUSE)).await;
        }
    }

    /// Takes units of the budget, if that leaves enough to others.
    fn admit(&self, units: u32) -> Option<(Share<Subject>, OwnedSemaphorePermit)> {
        let MemoryBudget { free, admitted, last_quarter, .. } = &*self.budget;
        let left = free.available_permits();
        let held = || admitted.held(&self.subject) + units as usize;
        // A subject that takes all it can leaves two thirds of what was free.
        if left < last_quarter + units as usize && held() > left / 2 {
            return None;
        }
        let of_process = Arc::clone(free).try_acquire_many_owned(units).ok()?;
        Some((admitted.try_take(&self.subject, units)?, of_process))
    }
}

/// Returns the pauses after which a request that was not admitted tries again. What others give back does not wake it: with
/// thousands that wait, each would wake all.
fn pauses() -> impl Iterator<Item = Duration> {
    ExponentialBuilder::default()
        .with_min_delay(Duration::from_millis(2))
        .with_max_delay(LONGEST_PAUSE)
        .with_jitter()
        .without_max_times()
        .build()
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
        self.admitted.shrink_to(units);
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
        for number in 2..4 {
            others.push(budget.of(subject(number)).reserve(1 << 20).await.unwrap());
        }
        // Of the last quarter, no subject gets more than half.
        assert!(budget.of(subject(4)).reserve(4 << 10).await.is_err());
        let some = budget.of(subject(4)).reserve(2 << 10).await.unwrap();
        assert!(budget.of(subject(4)).reserve(1 << 10).await.is_err());
        assert!(budget.of(subject(5)).reserve(1 << 10).await.is_ok());
        drop((held, some));
        assert!(budget.of(subject(5)).reserve(4 << 10).await.is_ok());
    }

    #[tokio::test]
    async fn if_some_take_all_that_they_can_something_is_left() {
        let budget = Arc::new(MemoryBudget::new(&LimitsConfig::default()));
        let mut held = Vec::new();
        for number in 0..9 {
            let memory = budget.of(Subject::Address(Some([127, 0, 0, number].into())));
            while let Some(admitted) = memory.admit(1 << 10) {
                held.push(admitted);
            }
        }
        assert!(held.len() > 400, "{} MiB", held.len());
        let another = budget.of(Subject::Address(None));
        assert!(another.reserve(2 << 20).await.is_ok());
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
