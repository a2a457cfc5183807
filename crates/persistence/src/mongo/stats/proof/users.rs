//! Compares the total of each user with the sum of the user's hours.

use std::collections::BTreeMap;

use bson::doc;
use records::{Rollup, RollupKey, Subject, UserId};

use super::{ChatOff, Position, Verification};
use crate::mongo::documents::{StoredRollup, USER};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::snapshot::{Query, Snapshot};

/// How many rollups are read at a time. A page ends after the last rollup of a user.
const ROLLUPS: usize = 10_000;

/// The stored total of a user, and the sum of the hours.
type Sums = [Rollup; 2];

impl Verification<'_> {
    /// Compares the totals of the next users. The sums are corrected by the errors found in their hours.
    pub(super) async fn compare_users(
        &mut self,
        after: Option<UserId>,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let (sums, is_last) = self.totals_of_users(after.as_ref(), snapshot).await?;
        let next = sums.last_key_value().map(|(user_id, _)| user_id.clone());
        for (user_id, [kept, mut expected]) in sums {
            let subject = Subject::User(user_id);
            if let Some(off) = self.off_in_hours.get(&subject) {
                expected.merge(off, -1);
            }
            self.report(RollupKey { subject, hour: None }, kept, expected, ChatOff::default());
        }
        self.position = match next {
            Some(next) if !is_last => Position::Users(Some(next)),
            _ => Position::Totals,
        };
        Ok(())
    }

    /// Returns the sums of the next users, and whether they are the last.
    async fn totals_of_users(
        &self,
        after: Option<&UserId>,
        snapshot: &mut Snapshot,
    ) -> Result<(BTreeMap<UserId, Sums>, bool), Failure> {
        let filter = self.rollups_after(USER, after.map(UserId::as_str));
        let query = Query { filter, sort: Some(doc! { "_id": 1 }), ..Query::default() };
        let mut found = snapshot.find(&self.store.inner.workflow_stats, query).await?;
        let mut sums: BTreeMap<UserId, Sums> = BTreeMap::new();
        let mut read = 0;
        while let Some(raw) = snapshot.next(&mut found).await? {
            let stored = StoredRollup::read(&raw)?;
            let Subject::User(user_id) = &stored.key.subject else { continue };
            if read >= ROLLUPS && !sums.contains_key(user_id) {
                return Ok((sums, false));
            }
            let [total, hours] = sums.entry(user_id.clone()).or_default();
            stored.add_to(if stored.key.hour.is_some() { hours } else { total })?;
            read += 1;
        }
        Ok((sums, true))
    }
}
