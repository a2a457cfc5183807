//! The leader of the index: one process that follows the changes of all chats (decision 0070).

use bson::{Bson, DateTime, RawDocumentBuf, doc};
use chrono::Utc;
use futures::TryStreamExt as _;
use mongodb::options::ReturnDocument;
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
        name: &str,
        indexed_to: Option<chrono::DateTime<Utc>>,
    ) -> Result<bool, StoreError> {
        self.read(|| self.require(Shape::MessageSearch)).await?;
        // The clock of the server decides, so those of the processes may differ. A field that is missing is less than any time.
        let process = doc! { "$literal": name };
        let is_mine = doc! { "$eq": ["$leader", &process] };
        let may_lead = doc! { "$or": [is_mine, { "$lt": ["$leads_until", "$$NOW"] }] };
        let or_as_before = |value: Bson, field: &str| doc! { "$cond": [&may_lead, value, field] };
        let lease = i64::try_from(INDEX_LEASE.as_millis()).unwrap_or(i64::MAX);
        let until = doc! { "$add": ["$$NOW", lease] };
        let mut set = doc! {
            "leader": or_as_before(process.clone().into(), "$leader"),
            "leads_until": or_as_before(until.into(), "$leads_until"),
            "schema_version": SCHEMA_VERSION,
        };
        if let Some(indexed_to) = indexed_to.map(DateTime::from_chrono) {
            let latest = doc! { "$max": ["$indexed_to", indexed_to] };
            set.insert("indexed_to", or_as_before(latest.into(), "$indexed_to"));
        }
        let update = vec![doc! { "$set": set }];
        let leader = self.write_until(self.deadline(), |_| async {
            let progress = &self.inner.search_progress;
            let led = progress.find_one_and_update(doc! { "_id": LEADER }, update.clone());
            let led = led.upsert(true).return_document(ReturnDocument::After).await;
            match led {
                Ok(Some(raw)) => {
                    let led: LeaderDocument = read_document(SEARCH_PROGRESS, &raw)?;
                    Ok(Some(led.leader))
                }
                Ok(None) => Ok(None),
                // Another process was the first one.
                Err(error) if is_duplicate_key(&error) => Ok(None),
                Err(error) => Err(error.into()),
            }
        });
        Ok(leader.await?.is_some_and(|leader| leader == name))
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
