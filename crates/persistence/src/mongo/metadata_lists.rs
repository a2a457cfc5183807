//! Lists of the chats whose metadata have a value.
//!
//! A chat has attributes for the keys that its app has declared. Each write of its metadata makes them, from the keys at that
//! moment, and stores the version of these keys beside them. After a change of the keys the chats of a lower version are behind.
//! A sweep brings them up, and a list by a key that is newer than the lowest version is refused. So it does not matter which keys
//! a slow writer has read: its chat is refused until the sweep has found it.

use bson::{Document, RawDocumentBuf, doc};
use records::{AppId, ChatId, JsonObject, MetadataFilter, MetadataKeys};
use serde::Deserialize;

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::CHAT_SESSIONS;
use crate::mongo::collections::session_index;
use crate::mongo::documents::stored::read_document;
use crate::mongo::documents::{
    ATTRS, ATTRS_VERSION, DeclaredKey, DeclaredKeys, LIFECYCLE, NEWEST_VERSION,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::SortedFind;
use crate::mongo::engine::json::Json;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::leases::same_number;

/// The index of the versions.
const VERSIONS: &str = "cs_attrs_version";

impl MongoStore {
    /// Reads a list by a value of the metadata, and refuses it if the app has not declared the key, or if a chat may be missing
    /// because its attributes are behind.
    ///
    /// The lowest version is read first: chats that are brought up while the list is read may be missing from it. The keys are
    /// read last: a list that was read after a key was removed is refused.
    pub(crate) async fn read_indexed<T>(
        &self,
        app_id: &AppId,
        metadata: &MetadataFilter,
        read: impl Future<Output = Result<T, Failure>>,
    ) -> Result<T, Failure> {
        let lowest = self.lowest_version(app_id).await?;
        let list = read.await?;
        let DeclaredKeys { keys, .. } = self.declared_keys(app_id).await?;
        let is_named = |it: &&DeclaredKey| it.key == metadata.key;
        let Some(DeclaredKey { key, since }) = keys.iter().find(is_named) else {
            let keys = keys.iter().map(|it| it.key.clone()).collect();
            let undeclared = MetadataKeys::from_stored(keys).check(metadata);
            return undeclared.map(|()| list).map_err(|e| StoreError::from(e).into());
        };
        if lowest.is_some_and(|lowest| lowest < *since) {
            return Err(StoreError::IndexingMetadata(key.clone()).into());
        }
        Ok(list)
    }

    /// Returns the lowest version of the attributes of the chats of an app, if it has any.
    async fn lowest_version(&self, app_id: &AppId) -> Result<Option<i64>, Failure> {
        let fields = doc! { ATTRS_VERSION: 1, "_id": 0 };
        let lowest = in_order_of_versions(doc! { "app_id": app_id.as_str() }, 1, fields);
        let found = lowest.read(&self.inner.chat_sessions).await?;
        let version = |raw: &RawDocumentBuf| raw.get_i64(ATTRS_VERSION).unwrap_or_default();
        Ok(found.first().map(version))
    }

    /// Brings the attributes of at most `limit` chats up to the keys that their apps have declared, and returns of how many.
    pub(super) async fn index_attributes(&self, limit: usize) -> Result<usize, StoreError> {
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
        let fields =
            doc! { "metadata": 1, "session_version": 1, LIFECYCLE: 1, "schema_version": 1 };
        in_order_of_versions(behind, limit, fields).read(&self.inner.chat_sessions).await
    }
}

/// Returns a query of sessions in the order of the versions of their attributes. Chats without attributes come first.
fn in_order_of_versions(filter: Document, limit: usize, projection: Document) -> SortedFind {
    let (sort, index) = (doc! { ATTRS_VERSION: 1 }, session_index(VERSIONS));
    SortedFind { filter, sort, index, limit, projection }
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
