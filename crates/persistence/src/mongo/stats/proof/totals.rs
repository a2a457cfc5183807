//! Compares the totals with the sums over hours and chats.

use std::collections::BTreeMap;

use bson::doc;
use records::{ChatStatus, Counter, Rollup, RollupKey, Subject, Tally, Usage};

use super::chats::{ChatRollup, chat_rollup};
use super::{ChatOff, Position, Verification, Workflow};
use crate::mongo::documents::{AGENT, CHAT, MODEL, StoredRollup, WORKFLOW};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::snapshot::{Query, Snapshot};

impl Verification<'_> {
    /// Compares the totals of all subjects but users. The sums are corrected by the errors found in their parts.
    pub(super) async fn compare_totals(&mut self, snapshot: &mut Snapshot) -> Result<(), Failure> {
        let [mut kept, mut expected] = self.totals_and_hours(snapshot).await?;
        let of_users = |subject: &Subject| matches!(subject, Subject::User(_));
        for (subject, off) in self.off_in_hours.iter().filter(|(subject, _)| !of_users(subject)) {
            expected.entry(subject.clone()).or_default().merge(off, -1);
        }
        let of_chats = self.sum_chat_rollups(snapshot).await?;
        expected.entry(Subject::Workflow).or_default().merge(&of_chats, 1);
        for (subject, expected) in expected {
            let kept = kept.remove(&subject).unwrap_or_default();
            self.report(RollupKey { subject, hour: None }, kept, expected, ChatOff::default());
        }
        for (subject, kept) in kept {
            self.report(
                RollupKey { subject, hour: None },
                kept,
                Rollup::default(),
                ChatOff::default(),
            );
        }
        self.position = Position::Done;
        Ok(())
    }

    /// Returns the stored totals, and the sums of all hours.
    async fn totals_and_hours(
        &self,
        snapshot: &mut Snapshot,
    ) -> Result<[BTreeMap<Subject, Rollup>; 2], Failure> {
        let Workflow { app_id, workflow_name } = self.workflow;
        let filter = doc! {
            "_id.app_id": app_id.as_str(),
            "_id.kind": { "$in": [WORKFLOW, AGENT, MODEL] },
            "_id.workflow_name": workflow_name.as_str(),
        };
        let query = Query { filter, ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.workflow_stats, query).await?;
        let (mut totals, mut hours) = (BTreeMap::new(), BTreeMap::new());
        while let Some(raw) = snapshot.next(&mut found).await? {
            let stored = StoredRollup::read(&raw)?;
            let sums = if stored.key.hour.is_some() { &mut hours } else { &mut totals };
            stored.add_to(sums.entry(stored.key.subject.clone()).or_default())?;
        }
        Ok([totals, hours])
    }

    /// Returns what only chats determine: the number of chats in each status, and the distribution
    /// of their usage.
    async fn sum_chat_rollups(&self, snapshot: &mut Snapshot) -> Result<Rollup, Failure> {
        let filter = self.rollups_after(CHAT, None);
        let query = Query { filter, ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.workflow_stats, query).await?;
        let mut off = self.off_in_chats.clone();
        let mut sum = Sum::default();
        while let Some(raw) = snapshot.next(&mut found).await? {
            if let Some(ChatRollup { chat_id, sums: mut rollup, .. }) = chat_rollup(&raw)? {
                if let Some(off) = off.remove(&chat_id) {
                    rollup.merge(&off, -1);
                }
                sum.add(&rollup);
            }
        }
        // Chats without a rollup.
        for off in off.values() {
            let mut rollup = Rollup::default();
            rollup.merge(off, -1);
            sum.add(&rollup);
        }
        Ok(sum.finish())
    }
}

#[derive(Default)]
struct Sum {
    standing: Rollup,
    usages: Tally,
}

impl Sum {
    fn add(&mut self, chat: &Rollup) {
        for counter in ChatStatus::ALL.map(Counter::for_status) {
            self.standing.add(counter, chat.get(counter));
        }
        self.usages.usage(&Usage::default(), &chat.usage());
    }

    fn finish(self) -> Rollup {
        let key = RollupKey { subject: Subject::Workflow, hour: None };
        let mut sum = self.usages.finish().remove(&key).unwrap_or_default();
        sum.merge(&self.standing, 1);
        sum
    }
}
