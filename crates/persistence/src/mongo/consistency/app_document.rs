//! Verifies that the documents of apps, their parts and their chats fit together.
//!
//! Parts are stored under the id of a content, and no index finds the document of a content. So the contents that have parts are
//! remembered first, and then every document is read. A content never comes back after it was replaced: parts that were there
//! before all documents were read, belong to none of them, and are still there, belong to no document.

use std::collections::{BTreeMap, HashMap, HashSet};

use bson::{Bson, Document, RawDocument, RawDocumentBuf, doc};
use chrono::TimeDelta;
use futures::TryStreamExt as _;
use records::{AppId, Lifecycle};
use tokio::time::Instant;

use super::{DataCheck, DataFault, FaultKind};
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::app_documents::{ContentCheck, ReadDocument, stored_document, stored_part};
use crate::mongo::collection_names::{DOCUMENT_PARTS, DOCUMENTS};
use crate::mongo::documents::{LIFECYCLE, NEWEST_VERSION};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::snapshot::{Query, Snapshot};
use crate::mongo::purges::PURGE_AGAIN_AT;
use crate::mongo::stats::MAX_STEP;

/// How many documents are read from one snapshot.
const DOCUMENTS_OF_STEP: usize = 100;
/// After how many bytes of parts a step ends, because a server keeps a snapshot for five minutes.
const BYTES_OF_STEP: u64 = 256 << 20;
/// How many keys of parts are read at once.
const KEYS: i64 = 10_000;
/// How much earlier than by the clock of this process the database may have begun to delete what expires.
const CLOCK_DIFFERENCE: TimeDelta = TimeDelta::minutes(1);

/// A content: its app and its id.
type ContentKey = (String, String);

/// The documents of one snapshot, and what was found in them.
#[derive(Debug, Default)]
struct Step {
    documents: u64,
    bytes: u64,
    /// The contents of the documents.
    contents: Vec<ContentKey>,
    faults: Vec<(Bson, DataFault)>,
    /// The last document of the step; `None` for a step that reaches to the end.
    last: Option<Bson>,
}

impl MongoStore {
    /// Compares the documents of one app, or of all, with their parts and their chats.
    ///
    /// It takes as long as it needs while services continue. What does not fit is looked at once more at the end, because an erasure
    /// deletes parts and documents one after the other.
    pub async fn check_documents(
        &self,
        app_id: Option<&AppId>,
        tell: &mut (dyn FnMut(DataCheck<'_>) + Send),
    ) -> Result<(), StoreError> {
        let mut without_document = self.contents_with_parts(app_id).await?;
        let (mut suspects, mut after) = (BTreeMap::new(), None);
        loop {
            let step = self.documents_step(ids(app_id, after.as_ref())).await?;
            step.contents.iter().for_each(|content| _ = without_document.remove(content));
            suspects.extend(step.faults.into_iter().map(|(id, _)| (id.to_string(), id)));
            tell(DataCheck::ReadDocuments { documents: step.documents, bytes: step.bytes });
            after = step.last;
            if after.is_none() {
                break;
            }
        }
        for id in suspects.into_values() {
            let step = self.documents_step(doc! { "$eq": id }).await?;
            step.faults.iter().for_each(|(_, fault)| tell(DataCheck::Fault(fault)));
        }
        let mut without_document: Vec<_> = without_document.into_iter().collect();
        without_document.sort();
        for content in without_document {
            let orphan = || self.orphan_parts(&content);
            if let Some(fault) = self.read_until(Instant::now() + MAX_STEP, orphan).await? {
                tell(DataCheck::Fault(&fault));
            }
        }
        Ok(())
    }

    /// Returns the contents that have parts.
    async fn contents_with_parts(
        &self,
        app_id: Option<&AppId>,
    ) -> Result<HashSet<ContentKey>, StoreError> {
        let (mut contents, mut after) = (HashSet::new(), None);
        loop {
            let keys = || async {
                let find =
                    self.inner.document_parts.find(doc! { "_id": ids(app_id, after.as_ref()) });
                let find = find.projection(doc! { "_id": 1 }).sort(doc! { "_id": 1 }).limit(KEYS);
                Ok(find.await?.try_collect::<Vec<_>>().await?)
            };
            let keys = self.read_until(Instant::now() + MAX_STEP, keys).await?;
            contents.extend(keys.iter().map(|raw| content_key(raw)));
            match keys.last().and_then(|raw| id_of(raw)) {
                Some(last) => after = Some(last),
                None => return Ok(contents),
            }
        }
    }

    async fn documents_step(&self, ids: Document) -> Result<Step, StoreError> {
        let step = || self.read_documents(ids.clone());
        self.read_until(Instant::now() + MAX_STEP, step).await
    }

    async fn read_documents(&self, ids: Document) -> Result<Step, Failure> {
        let mut snapshot = Snapshot::take(self).await?;
        let query = Query {
            filter: doc! { "_id": ids },
            sort: Some(doc! { "_id": 1 }),
            index: Some(mongodb::options::Hint::Keys(doc! { "_id": 1 })),
            ..Query::default()
        };
        let mut found = snapshot.find(&self.inner.documents, query).await?;
        let (mut step, mut bound) = (Step::default(), Vec::new());
        while let Some(raw) = snapshot.next(&mut found).await? {
            let Some(id) = id_of(&raw) else { continue };
            step.documents += 1;
            step.contents
                .push((app_of(&raw), raw.get_str("content_id").unwrap_or_default().to_owned()));
            match stored_document(&raw) {
                Ok(stored) => {
                    if let Some((kind, detail)) = self.check_content(&stored, &mut snapshot).await?
                    {
                        step.faults.push((id.clone(), fault(&raw, DOCUMENT_PARTS, kind, detail)));
                    }
                    step.bytes += stored.kept.head.size;
                    let chat_id = stored.kept.head.binding.chat_id;
                    bound.extend(chat_id.map(|chat_id| (chat_id.to_string(), id.clone(), raw)));
                }
                Err(error) => {
                    let (kind, detail) = (FaultKind::Unreadable, error.to_string());
                    step.faults.push((id.clone(), fault(&raw, DOCUMENTS, kind, detail)));
                }
            }
            if step.contents.len() >= DOCUMENTS_OF_STEP || step.bytes >= BYTES_OF_STEP {
                step.last = Some(id);
                break;
            }
        }
        self.check_chats_of(bound, &mut step, &mut snapshot).await?;
        Ok(step)
    }

    /// Compares a document with its parts.
    async fn check_content(
        &self,
        stored: &ReadDocument,
        snapshot: &mut Snapshot,
    ) -> Result<Option<(FaultKind, String)>, Failure> {
        if !stored.kept.head.exists_at(self.inner.clock.now() + CLOCK_DIFFERENCE) {
            return Ok(None);
        }
        let mut content = ContentCheck::new(stored);
        let query =
            Query { filter: content.parts(), sort: Some(doc! { "_id": 1 }), ..Query::default() };
        let mut found = snapshot.find(&self.inner.document_parts, query).await?;
        while let Some(raw) = snapshot.next(&mut found).await? {
            match stored_part(&raw) {
                Ok(part) => {
                    if let Err(detail) = content.add(&part) {
                        return Ok(Some((FaultKind::Content, detail)));
                    }
                }
                Err(error) => return Ok(Some((FaultKind::Unreadable, error.to_string()))),
            }
        }
        Ok(content.finish().err().map(|detail| (FaultKind::Content, detail)))
    }

    /// Looks for the chats of documents.
    async fn check_chats_of(
        &self,
        bound: Vec<(String, Bson, RawDocumentBuf)>,
        step: &mut Step,
        snapshot: &mut Snapshot,
    ) -> Result<(), Failure> {
        let chats = bound.iter().map(|(chat_id, ..)| chat_id.as_str()).collect();
        let chats = self.chats_with_records(chats, snapshot).await?;
        for (chat_id, id, raw) in bound {
            let found = match chats.get(&chat_id) {
                Some(app) if *app == app_of(&raw) => continue,
                Some(app) => {
                    (FaultKind::OtherApp, format!("its chat {chat_id} is of the app {app:?}"))
                }
                None => {
                    (FaultKind::Orphan, format!("its chat {chat_id} is not stored, or was purged"))
                }
            };
            step.faults.push((id, fault(&raw, DOCUMENTS, found.0, found.1)));
        }
        Ok(())
    }

    /// Returns the apps of chats that have records, or whose purge still removes them.
    async fn chats_with_records(
        &self,
        chat_ids: Vec<&str>,
        snapshot: &mut Snapshot,
    ) -> Result<HashMap<String, String>, Failure> {
        let mut chats = HashMap::new();
        if chat_ids.is_empty() {
            return Ok(chats);
        }
        let query = Query {
            filter: doc! {
                "_id": { "$in": chat_ids },
                "$or": [
                    { LIFECYCLE: { "$not": { "$gte": Lifecycle::Purged.number() } } },
                    { PURGE_AGAIN_AT: { "$exists": true } },
                ],
                "schema_version": { "$lte": NEWEST_VERSION },
            },
            projection: Some(doc! { "app_id": 1 }),
            index: Some(mongodb::options::Hint::Keys(doc! { "_id": 1 })),
            ..Query::default()
        };
        let mut found = snapshot.find(&self.inner.chat_sessions, query).await?;
        while let Some(raw) = snapshot.next(&mut found).await? {
            let text = |field| raw.get_str(field).unwrap_or_default().to_owned();
            chats.insert(text("_id"), text("app_id"));
        }
        Ok(chats)
    }

    /// Returns the fault of parts whose document was not found, if they are still there.
    async fn orphan_parts(&self, content: &ContentKey) -> Result<Option<DataFault>, Failure> {
        let mut snapshot = Snapshot::take(self).await?;
        let (app, content_id) = content;
        let key = |offset: Bson| doc! { "app_id": app, "content_id": content_id, "offset": offset };
        let query = Query {
            filter: doc! { "_id": { "$gte": key(Bson::MinKey), "$lt": key(Bson::MaxKey) } },
            sort: Some(doc! { "_id": 1 }),
            limit: Some(1),
            ..Query::default()
        };
        let mut found = snapshot.find(&self.inner.document_parts, query).await?;
        let Some(raw) = snapshot.next(&mut found).await? else { return Ok(None) };
        let now = bson::DateTime::from_chrono(self.inner.clock.now() + CLOCK_DIFFERENCE);
        if raw.get_datetime("expires_at").is_ok_and(|expires_at| expires_at <= now) {
            return Ok(None);
        }
        // A purge deletes the documents of a chat before their parts.
        if let Ok(chat_id) = raw.get_str("chat_id")
            && self.inner.chat_sessions.find_one(purge_under_way(app, chat_id)).await?.is_some()
        {
            return Ok(None);
        }
        let detail = "the parts belong to no document".to_owned();
        let record = format!("{app}, content {content_id}");
        let collection = DOCUMENT_PARTS;
        Ok(Some(DataFault { record, collection, kind: FaultKind::Orphan, detail }))
    }
}

fn purge_under_way(app: &str, chat_id: &str) -> Document {
    doc! { "_id": chat_id, "app_id": app, PURGE_AGAIN_AT: { "$exists": true } }
}

/// Returns the range of the ids that begin with an app, or with any, after one.
fn ids(app_id: Option<&AppId>, after: Option<&Bson>) -> Document {
    let mut range = doc! { "$gt": after.cloned().unwrap_or(Bson::MinKey) };
    if let Some(app_id) = app_id {
        range.insert("$gte", doc! { "app_id": app_id.as_str() });
        // The name of the second field does not matter: no value is greater.
        range.insert("$lt", doc! { "app_id": app_id.as_str(), "last": Bson::MaxKey });
    }
    range
}

fn fault(
    raw: &RawDocument,
    collection: &'static str,
    kind: FaultKind,
    detail: String,
) -> DataFault {
    let path = raw.get_document("_id").ok().and_then(|id| id.get_str("path").ok());
    let record = format!("{}, document {}", app_of(raw), path.unwrap_or_default());
    DataFault { record, collection, kind, detail }
}

fn content_key(raw: &RawDocument) -> ContentKey {
    let content_id = raw.get_document("_id").ok().and_then(|id| id.get_str("content_id").ok());
    (app_of(raw), content_id.unwrap_or_default().to_owned())
}

fn app_of(raw: &RawDocument) -> String {
    let app = raw.get_document("_id").ok().and_then(|id| id.get_str("app_id").ok());
    app.unwrap_or_default().to_owned()
}

fn id_of(raw: &RawDocument) -> Option<Bson> {
    raw.get("_id").ok().flatten().and_then(|id| Bson::try_from(id).ok())
}
