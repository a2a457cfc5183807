use anyhow::{Result, ensure};
use async_trait::async_trait;
use bson::{Bson, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::Collection;

use super::Floor;
use crate::measure::Read;

/// `find` with the filter, the order, the limit and the projection that the store lists with.
#[derive(Debug)]
pub(crate) struct ListSessions {
    sessions: Collection<RawDocumentBuf>,
    app_id: String,
    limit: usize,
}

impl ListSessions {
    /// Lists from the store's database.
    pub(crate) fn new(floor: &Floor, store: &str, app_id: &str, limit: usize) -> Self {
        let sessions = floor.database.client().database(store).collection("chat_sessions");
        Self { sessions, app_id: app_id.to_owned(), limit }
    }
}

#[async_trait]
impl Read for ListSessions {
    async fn read(&self) -> Result<()> {
        let listed = doc! {
            "app_id": &self.app_id,
            "lifecycle": { "$in": [Bson::Null, Bson::Int32(2)] },
            "status": { "$in": [1, 2, 3, 4] },
        };
        let find = self.sessions.find(listed);
        let find = find.sort(doc! { "created_at": -1, "_id": -1 });
        // One more than the page holds, to know whether there is another page.
        let find = find.limit(i64::try_from(self.limit)? + 1);
        let bulk = doc! { "messages": 0, "last_artifact": 0, "context_snapshot": 0 };
        let found: Vec<_> = find.projection(bulk).await?.try_collect().await?;
        ensure!(found.len() == self.limit + 1, "{} sessions were found", found.len());
        Ok(())
    }
}
