use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicU32, Ordering};

use records::{AppId, WorkflowName};

/// Chooses in which of several documents that count the same a writer counts.
///
/// Writers who meet in one have to wait for each other. So the more often those of a workflow meet,
/// the more documents they are spread over; a quiet workflow has one of each.
#[derive(Debug)]
pub(in crate::mongo) struct Stripes {
    hasher: RandomState,
    /// How many each workflow has; workflows may share a place, which does no harm.
    widths: Vec<AtomicU32>,
    next: AtomicU32,
}

impl Default for Stripes {
    fn default() -> Self {
        let widths = (0..Self::PLACES).map(|_| AtomicU32::new(1)).collect();
        Self { hasher: RandomState::new(), widths, next: AtomicU32::default() }
    }
}

impl Stripes {
    const PLACES: usize = 1 << 10;

    /// How many there are at most.
    const MOST: u32 = 16;

    /// Returns the stripe for the next transaction.
    pub(super) fn pick(&self, app_id: &AppId, workflow_name: &WorkflowName) -> u32 {
        let width = self.width(app_id, workflow_name).load(Ordering::Relaxed);
        self.next.fetch_add(1, Ordering::Relaxed) % width
    }

    /// Spreads the writers of a workflow further: two of them have met.
    pub(super) fn widen(&self, app_id: &AppId, workflow_name: &WorkflowName) {
        let wider = |width: u32| (width < Self::MOST).then_some(width * 2);
        let width = self.width(app_id, workflow_name);
        // It is as wide as can be.
        let _ = width.fetch_update(Ordering::Relaxed, Ordering::Relaxed, wider);
    }

    fn width(&self, app_id: &AppId, workflow_name: &WorkflowName) -> &AtomicU32 {
        let place = self.hasher.hash_one((app_id, workflow_name)) % Self::PLACES as u64;
        &self.widths[usize::try_from(place).unwrap_or_default()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_workflow_whose_writers_meet_is_spread() {
        let stripes = Stripes::default();
        let (app, hot): (AppId, WorkflowName) = ("a".parse().unwrap(), "hot".parse().unwrap());
        let picked = || (0..64).map(|_| stripes.pick(&app, &hot)).max().unwrap();
        assert_eq!(picked(), 0);
        (0..2).for_each(|_| stripes.widen(&app, &hot));
        assert_eq!(picked(), 3);
        (0..9).for_each(|_| stripes.widen(&app, &hot));
        assert_eq!(picked(), 15);
    }
}
