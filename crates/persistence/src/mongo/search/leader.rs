//! The leader of the index: one process that follows the changes of all chats (decision 0070).

use bson::{DateTime, RawDocumentBuf, doc};
use chrono::Utc;
use futures::TryStreamExt as _;
use records::AppId;
use serde::{Deserialize, Serialize};

use super::documents::ProgressDocument;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::SEARCH_PROGRESS;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::time::Time;
use crate::mongo::documents::{SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::format::Shape;
use crate::store::INDEX_LEASE;

/// The id of the document of the leader, which no app can have.
const LEADER: &str = "*";

/// The leader, and how far the chats of all apps are known to be indexed.
#[derive(Debug, Serialize, Deserialize)]
struct LeaderDocument {
    #[serde(rename = "_id")]
    id: String,
    leader: String,
    leads_until: Time,
    /// Every change before this time is in the index.
    #[serde(skip_serializing_if = "Option::is_none")]
    indexed_to: Option<Time>,
    schema_version: i64,
}

/// What is known of an app, or of all.
#[derive(Debug, Deserialize)]
struct Known {
    indexed_to: Option<Time>,
}

impl MongoStore {
    pub(super) async fn lead(
        &self,
        process: &str,
        indexed_to: Option<chrono::DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        self.read(|| self.require(Shape::MessageSearch)).await?;
        // The clock of the server decides, so those of the processes may differ.
        let is_free = doc! { "$expr": { "$lt": ["$leads_until", "$$NOW"] } };
        let filter = doc! { "_id": LEADER, "$or": [{ "leader": process }, is_free] };
        let lease = i64::try_from(INDEX_LEASE.as_millis()).unwrap_or(i64::MAX);
        let mut set = doc! {
            "leader": { "$literal": process },
            "leads_until": { "$add": ["$$NOW", lease] },
            "schema_version": SCHEMA_VERSION,
        };
        if let Some(indexed_to) = indexed_to.map(DateTime::from_chrono) {
            set.insert("indexed_to", doc! { "$max": ["$indexed_to", indexed_to] });
        }
        let update = vec![doc! { "$set": set }];
        self.write_until(self.deadline(), |_| async {
            let progress = &self.inner.search_progress;
            let led = progress.update_one(filter.clone(), update.clone()).upsert(true).await;
            match led {
                Ok(_) => Ok(true),
                // The document of another leader did not match, and so a second one was to be inserted.
                Err(error) if is_duplicate_key(&error) => Ok(false),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }

    /// Returns the time before which every change of an app is indexed.
    pub(super) async fn indexed_to(
        &self,
        app_id: &AppId,
    ) -> Result<Option<chrono::DateTime<Utc>>, Failure> {
        let known = doc! { "_id": { "$in": [app_id.as_str(), LEADER] } };
        let found: Vec<RawDocumentBuf> =
            self.inner.search_progress.find(known).await?.try_collect().await?;
        let times = found.iter().map(|raw| {
            let Known { indexed_to } = read_document(SEARCH_PROGRESS, raw)?;
            Ok(indexed_to.map(|time| time.0))
        });
        Ok(times.collect::<Result<Vec<_>, StoreError>>()?.into_iter().flatten().max())
    }
}

/// Reads a document of the collection, and writes it anew.
pub(crate) fn progress_rewritten(raw: &RawDocumentBuf) -> Result<Option<RawDocumentBuf>, Failure> {
    if raw.get_str("_id").is_ok_and(|id| id == LEADER) {
        return encode(&read_document::<LeaderDocument>(SEARCH_PROGRESS, raw)?).map(Some);
    }
    encode(&read_document::<ProgressDocument>(SEARCH_PROGRESS, raw)?).map(Some)
}
