use bson::{Bson, Document, RawDocumentBuf, doc};
use chrono::{DateTime, Utc};
use mongodb::error::Error;
use mongodb::{ClientSession, Collection};
use records::{AppId, ChatId, RollupKey, Subject};
use serde_json::Value;
use tokio::sync::Mutex;

use super::encoding::encode;
use super::reservation::reservations_of;
use super::{Archive, taken};
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{Lineage, open_chat_session, rollup_id, wallets_after};
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::engine::scope::chat_filter;
use crate::mongo::purges::{bound_filter, records_filter};
use crate::mongo::{MongoStore, Workflow, collection_names};
use crate::{BoxError, StoreError};

/// The most documents of a read; a reply of the server has at most 16 MiB.
const PAGE: u32 = 1_000;

/// A document of an archive.
#[derive(Debug, Clone, PartialEq)]
pub struct ArchivedDocument {
    /// The name of its collection.
    pub collection: &'static str,
    /// The document, as JSON.
    pub document: Value,
}

/// Takes the documents one by one.
type Emit<'a> = &'a mut (dyn FnMut(ArchivedDocument) -> Result<(), BoxError> + Send);

/// The reason why documents are not archived.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ArchiveError {
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// A document could not be passed on.
    #[error(transparent)]
    Emit(BoxError),
}

impl MongoStore {
    /// Lists chats of a workflow, purged ones too, after a position: their ids in the order of their creation.
    pub async fn chats_to_archive(
        &self,
        workflow: &Workflow,
        after: Option<&(DateTime<Utc>, ChatId)>,
        limit: u32,
    ) -> Result<Vec<(DateTime<Utc>, ChatId)>, StoreError> {
        let Workflow { app_id, workflow_name } = workflow;
        let mut filter =
            doc! { "app_id": app_id.as_str(), "workflow_name": workflow_name.as_str() };
        if let Some((created_at, chat_id)) = after {
            let time = bson::DateTime::from_chrono(*created_at);
            let later = vec![
                doc! { "created_at": { "$gt": time } },
                doc! { "created_at": time, "_id": { "$gt": chat_id.as_str() } },
            ];
            filter.insert("$or", later);
        }
        let page = || async {
            let find = self.inner.chat_sessions.find(filter.clone()).limit(i64::from(limit));
            let find = find.sort(doc! { "created_at": 1, "_id": 1 });
            ReadAt::Latest.all(find.projection(doc! { "created_at": 1, "schema_version": 1 })).await
        };
        let found = self.read(page).await?;
        let position = |raw: &RawDocumentBuf| {
            let fields = Fields::open(collection_names::CHAT_SESSIONS, "(a document)", raw)?;
            Ok((fields.time("created_at")?, fields.parsed("_id")?))
        };
        found.iter().map(position).collect()
    }

    /// Returns the workflow of a chat, also of a purged one; `None` if the app has no such chat.
    pub async fn workflow_of(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Option<Workflow>, StoreError> {
        let find = || async {
            let find = self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id));
            Ok(find.projection(doc! { "workflow_name": 1, "schema_version": 1 }).await?)
        };
        let Some(raw) = self.read(find).await? else { return Ok(None) };
        let workflow_name = open_chat_session(&raw)?.parsed("workflow_name")?;
        Ok(Some(Workflow { app_id: app_id.clone(), workflow_name }))
    }

    /// Returns the chats whose sealed messages a fork shares; none for another chat, and `None` if the app has no such chat.
    pub async fn shared_with(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
    ) -> Result<Option<Vec<ChatId>>, StoreError> {
        let find = || async {
            let find = self.inner.chat_sessions.find_one(chat_filter(app_id, chat_id));
            Ok(find.projection(Lineage::projection()).await?)
        };
        let Some(raw) = self.read(find).await? else { return Ok(None) };
        let lineage = Lineage::read(chat_id, &open_chat_session(&raw)?)?;
        Ok(Some(lineage.base_chats().cloned().collect()))
    }

    /// Passes on all documents of a chat as they were at one moment, its session last. Returns whether there is such a chat.
    pub async fn archive_chat(
        &self,
        workflow: &Workflow,
        chat_id: &ChatId,
        emit: Emit<'_>,
    ) -> Result<bool, ArchiveError> {
        let app_id = &workflow.app_id;
        let session = Mutex::new(self.read(|| self.snapshot_session()).await?);
        let one = chat_filter(app_id, chat_id);
        let mut found = false;
        // The first read makes the moment.
        for stored in taken(Archive::Session) {
            found = !self.page(&session, stored.name, &one, None).await?.is_empty();
        }
        if !found {
            return Ok(false);
        }
        let of_chat = records_filter(app_id, chat_id);
        for stored in taken(Archive::OfChat) {
            self.emit_all(&session, stored.name, &of_chat, &mut *emit).await?;
        }
        for stored in taken(Archive::OneOfChat) {
            self.emit_all(&session, stored.name, &one, &mut *emit).await?;
        }
        let bound = bound_filter(app_id, chat_id);
        for stored in taken(Archive::Documents) {
            self.emit_all(&session, stored.name, &bound, &mut *emit).await?;
        }
        let key = RollupKey { subject: Subject::Chat(chat_id.clone()), hour: None };
        let rollup = doc! { "_id": rollup_id(app_id, &workflow.workflow_name, &key, 0) };
        for stored in taken(Archive::RollupOfChat) {
            self.emit_all(&session, stored.name, &rollup, &mut *emit).await?;
        }
        for stored in taken(Archive::Session) {
            self.emit_all(&session, stored.name, &one, &mut *emit).await?;
        }
        Ok(true)
    }

    /// Passes on the document of an app, its wallets, its assistants, and its documents that are of no chat, as they were at one moment.
    pub async fn archive_app(&self, app_id: &AppId, emit: Emit<'_>) -> Result<(), ArchiveError> {
        let session = Mutex::new(self.read(|| self.snapshot_session()).await?);
        for (archive, filter) in beside_chats(app_id) {
            for stored in taken(archive) {
                self.emit_all(&session, stored.name, &filter, &mut *emit).await?;
            }
        }
        Ok(())
    }

    /// Returns whether the database has anything that an archive of the app would have: the app is registered, or has a chat,
    /// a wallet, an assistant or a document, or an import has begun to store one of its chats. Entries of the audit log do not count: commands write them for any app.
    pub async fn knows_app(&self, app_id: &AppId) -> Result<bool, StoreError> {
        let of_chats = [doc! { "app_id": app_id.as_str() }, reservations_of(app_id)];
        let of_chats = of_chats.map(|filter| (Archive::Session, filter));
        for (archive, filter) in of_chats.into_iter().chain(beside_chats(app_id)) {
            for stored in taken(archive) {
                let collection: Collection<RawDocumentBuf> =
                    self.inner.database.collection(stored.name);
                let found = || async {
                    let find = collection.find_one(filter.clone());
                    Ok(find.projection(doc! { "_id": 1 }).await?.is_some())
                };
                if self.read(found).await? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    async fn emit_all(
        &self,
        session: &Mutex<ClientSession>,
        collection: &'static str,
        filter: &Document,
        emit: Emit<'_>,
    ) -> Result<(), ArchiveError> {
        let mut last = None;
        loop {
            let page = self.page(session, collection, filter, last.as_ref()).await?;
            for raw in &page {
                let document =
                    encode(raw).map_err(|error| corrupt(collection, raw, error.into()))?;
                emit(ArchivedDocument { collection, document }).map_err(ArchiveError::Emit)?;
            }
            last = page.last().and_then(id_of);
            if last.is_none() {
                return Ok(());
            }
        }
    }

    /// Reads the next documents of a filter, in the order of their ids.
    async fn page(
        &self,
        session: &Mutex<ClientSession>,
        name: &'static str,
        filter: &Document,
        after: Option<&Bson>,
    ) -> Result<Vec<RawDocumentBuf>, StoreError> {
        let collection: Collection<RawDocumentBuf> = self.inner.database.collection(name);
        let filter = match after {
            Some(after) => doc! { "$and": [filter.clone(), { "_id": { "$gt": after } }] },
            None => filter.clone(),
        };
        let page = || async {
            let find = collection.find(filter.clone()).sort(doc! { "_id": 1 });
            let mut session = session.lock().await;
            let reply = ReadAt::Snapshot(&mut session).one_reply(find, PAGE).await?;
            let Some(reply) = reply else { return Ok(Vec::new()) };
            let mut documents = Vec::new();
            for item in reply.doc_slices()? {
                documents.extend(item.map_err(Error::from)?.as_document().map(ToOwned::to_owned));
            }
            Ok(documents)
        };
        self.read(page).await
    }
}

/// Returns the filter for the documents whose `_id` begins with an app.
fn of_app(app_id: &AppId) -> Document {
    let first = doc! { "app_id": app_id.as_str() };
    // The name of the second field does not matter: no value is greater.
    let last = doc! { "app_id": app_id.as_str(), "last": Bson::MaxKey };
    doc! { "_id": { "$gte": first, "$lt": last } }
}

/// Returns what an archive takes of an app beside its chats, and the filters for it.
fn beside_chats(app_id: &AppId) -> [(Archive, Document); 5] {
    [
        (Archive::App, doc! { "_id": app_id.as_str() }),
        (Archive::WalletEntries, of_app(app_id)),
        (Archive::Wallets, wallets_after(app_id, None)),
        (Archive::Assistants, of_app(app_id)),
        (Archive::Documents, unbound(app_id)),
    ]
}

/// Returns the filter for the documents of an app that are bound to no chat.
fn unbound(app_id: &AppId) -> Document {
    let mut filter = of_app(app_id);
    filter.insert("chat_id", Bson::Null);
    filter
}

fn id_of(raw: &RawDocumentBuf) -> Option<Bson> {
    raw.get("_id").ok().flatten().and_then(|id| Bson::try_from(id).ok())
}

fn corrupt(collection: &'static str, raw: &RawDocumentBuf, source: BoxError) -> StoreError {
    let id = id_of(raw).map(|id| id.to_string()).unwrap_or_default();
    StoreError::Corrupt { collection, id, field: "(a value)".to_owned(), source: Some(source) }
}
