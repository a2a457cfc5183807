//! Lists of the chats whose metadata have a value.
//!
//! A chat has attributes for the keys that its app has declared. Each write of its metadata makes them, from the keys at that
//! moment, and stores the version of these keys beside them. After a change of the keys the chats of a lower version are behind.
//! A sweep brings them up, and a list by a key that is newer than the lowest version is refused. So it does not matter which keys
//! a slow writer has read: its chat is refused until the sweep has found it.

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::action::{Action as _, Aggregate};
use mongodb::options::ReadConcern;
use records::{AppId, ChatId, JsonObject, MetadataFilter, MetadataKeys};
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::apps::AppDocument;
use crate::mongo::collection_names::{APPS, CHAT_SESSIONS};
use crate::mongo::collections::session_index;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{ATTRS, ATTRS_VERSION, DeclaredKeys, LIFECYCLE, NEWEST_VERSION};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::{SortedFind, hinted};
use crate::mongo::engine::json::Json;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::leases::same_number;

/// The index of the versions.
const VERSIONS: &str = "cs_attrs_version";

impl MongoStore {
    /// Reads sessions of a list by a value of the metadata, and refuses it if the app has not declared the key, or if a chat may be
    /// missing because its attributes are behind.
    ///
    /// The sessions, the lowest version and the keys are of one moment. In queries of their own, chats could be brought up
    /// between two of them, or the key removed, and such a list would lack chats.
    pub(super) async fn indexed_rows(
        &self,
        find: SortedFind,
        app_id: &AppId,
        metadata: &MetadataFilter,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let SortedFind { filter, sort, index, limit, projection } = find;
        let mut pipeline = vec![doc! { "$match": filter }];
        if !sort.is_empty() {
            pipeline.push(doc! { "$sort": sort });
        }
        let limit = u32::try_from(limit).unwrap_or(u32::MAX);
        pipeline.push(doc! { "$limit": i64::from(limit) });
        pipeline.push(doc! { "$project": projection });
        pipeline.extend(lowest_version_and_app(app_id));
        let mut rows: Vec<RawDocumentBuf> = hinted(index, |hint| async {
            let read = self.inner.chat_sessions.aggregate(pipeline.clone());
            let read = read.optional(hint, Aggregate::hint).with_type::<RawDocumentBuf>();
            let read = read.read_concern(ReadConcern::snapshot());
            Ok(read.batch_size(limit.saturating_add(2)).await?.try_collect().await?)
        })
        .await?;
        let app = rows.pop_if(|row| matches!(row.get(APP), Ok(Some(_))));
        let lowest = rows.pop_if(|row| matches!(row.get(LOWEST), Ok(Some(_))));
        let app = app.as_ref().and_then(|row| row.get_document(APP).ok());
        let app = app.map(|app| read_document::<AppDocument>(APPS, app)).transpose()?;
        let keys = app.map(|app| app.declared_keys()).unwrap_or_default();
        check_declared(&keys, metadata)?;
        let since = keys.keys.iter().find(|it| it.key == metadata.key).map(|it| it.since);
        // A chat that was never indexed has no version.
        let lowest = lowest.map(|row| row.get_i64(LOWEST).unwrap_or_default());
        if lowest.zip(since).is_some_and(|(lowest, since)| lowest < since) {
            return Err(StoreError::IndexingMetadata(metadata.key.clone()).into());
        }
        Ok(rows)
    }

    /// Refuses a list by a value of the metadata whose key the app has not declared.
    pub(super) async fn check_indexed(
        &self,
        app_id: &AppId,
        metadata: &MetadataFilter,
    ) -> Result<(), Failure> {
        check_declared(&self.declared_keys(app_id).await?, metadata)
    }

    /// Brings the attributes of at most `limit` chats up to the keys that their apps have declared, and returns of how many.
    pub(in crate::mongo::chat_sessions) async fn index_attributes(
        &self,
        limit: usize,
    ) -> Result<usize, StoreError> {
        let mut indexed = 0;
        for (app_id, keys) in self.read(|| self.apps_with_metadata_keys()).await? {
            if indexed >= limit {
                break;
            }
            let behind = self.read(|| self.chats_behind(&app_id, &keys, limit - indexed)).await?;
            // One whose metadata have changed since they were read is left to a later call.
            let updates: Vec<_> =
                behind.iter().filter_map(|raw| update(&app_id, &keys, raw)).collect();
            let modified = self.update_each(&updates).await?;
            indexed += usize::try_from(modified).unwrap_or(usize::MAX);
        }
        Ok(indexed)
    }

    async fn chats_behind(
        &self,
        app_id: &AppId,
        keys: &DeclaredKeys,
        limit: usize,
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        let behind = doc! {
            "app_id": app_id.as_str(),
            ATTRS_VERSION: behind(keys),
            "schema_version": { "$lte": NEWEST_VERSION },
        };
        // Chats without attributes come first.
        let find = SortedFind {
            filter: behind,
            sort: doc! { ATTRS_VERSION: 1 },
            index: session_index(VERSIONS),
            limit,
            projection: doc! { "metadata": 1, "session_version": 1, LIFECYCLE: 1, "schema_version": 1 },
        };
        find.read(&self.inner.chat_sessions).await
    }
}

fn check_declared(declared: &DeclaredKeys, metadata: &MetadataFilter) -> Result<(), Failure> {
    let keys = declared.keys.iter().map(|it| it.key.clone()).collect();
    Ok(MetadataKeys::from_stored(keys).check(metadata)?)
}

/// The fields of the rows that follow the sessions of a list.
const LOWEST: &str = "lowest_version";
const APP: &str = "app";

/// Returns the stages that add the lowest version of the attributes of the chats of an app, if it has any, and the app, if it
/// is registered.
fn lowest_version_and_app(app_id: &AppId) -> [Document; 2] {
    let app_id = app_id.as_str();
    let lowest = vec![
        doc! { "$match": { "app_id": app_id } },
        doc! { "$sort": { ATTRS_VERSION: 1 } },
        doc! { "$limit": 1 },
        doc! { "$project": { "_id": 0, LOWEST: { "$ifNull": [format!("${ATTRS_VERSION}"), null] } } },
    ];
    let app = vec![
        doc! { "$match": { "_id": app_id } },
        doc! { "$project": { "_id": 0, APP: "$$ROOT" } },
    ];
    [(CHAT_SESSIONS, lowest), (APPS, app)]
        .map(|(collection, pipeline)| doc! { "$unionWith": { "coll": collection, "pipeline": pipeline } })
}

/// Returns the condition for the version of attributes that are behind; it may be missing.
fn behind(keys: &DeclaredKeys) -> Document {
    doc! { "$not": { "$gte": keys.version } }
}

/// The fields of a session that its attributes are made of, and that show a change of them.
#[derive(Debug, Deserialize)]
struct Source {
    #[serde(rename = "_id")]
    chat_id: ChatId,
    metadata: Json<JsonObject>,
    #[serde(default)]
    session_version: u64,
    lifecycle: Option<i32>,
}

/// Returns the update of the attributes of a session. It does nothing if the metadata were changed or purged meanwhile, or if
/// another process was faster.
fn update(
    app_id: &AppId,
    keys: &DeclaredKeys,
    raw: &RawDocumentBuf,
) -> Option<(Document, Document)> {
    let source: Source = match read_document(CHAT_SESSIONS, raw) {
        Ok(source) => source,
        Err(error) => {
            // Every call that reads the chat reports it. It must not keep all lists waiting.
            tracing::warn!(%app_id, %error, "cannot index the metadata of a chat");
            let mut one = doc! { "_id": raw.get_str("_id").ok()?, "app_id": app_id.as_str() };
            one.insert(ATTRS_VERSION, behind(keys));
            let none = doc! { "$set": { ATTRS_VERSION: keys.version }, "$unset": { ATTRS: "" } };
            return Some((one, none));
        }
    };
    let mut filter = chat_filter(app_id, &source.chat_id);
    filter.insert("session_version", same_number(source.session_version));
    filter.insert(LIFECYCLE, source.lifecycle);
    filter.insert(ATTRS_VERSION, behind(keys));
    let (mut set, mut unset) = (Document::new(), Document::new());
    for (field, value) in keys.attributes(&source.metadata.0).fields() {
        match value {
            Some(value) => set.insert(field, value),
            None => unset.insert(field, ""),
        };
    }
    let mut update = doc! { "$set": set };
    if !unset.is_empty() {
        update.insert("$unset", unset);
    }
    Some((filter, update))
}
