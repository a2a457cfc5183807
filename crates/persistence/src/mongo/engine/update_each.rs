//! Updates of many sessions for the store's own work.

use bson::Document;
use futures::future::ready;
use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::StoreError;
use crate::mongo::MongoStore;

/// How many sessions are updated at the same time.
const UPDATED_AT_ONCE: usize = 16;

impl MongoStore {
    /// Updates sessions, some at the same time, and returns how many were modified. Each pair is a filter, which does not match
    /// what another call has done meanwhile, and an update.
    pub(crate) async fn update_each(
        &self,
        updates: &[(Document, Document)],
    ) -> Result<u64, StoreError> {
        let update = |(filter, update): &(Document, Document)| {
            self.inner.chat_sessions.update_one(filter.clone(), update.clone()).into_future()
        };
        self.write_until(self.deadline(), |_| async {
            let updating = stream::iter(updates).map(update).buffer_unordered(UPDATED_AT_ONCE);
            Ok(updating.try_fold(0, |sum, done| ready(Ok(sum + done.modified_count))).await?)
        })
        .await
    }
}
