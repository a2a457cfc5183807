use std::collections::{BTreeMap, HashMap};

use bson::{Bson, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use mongodb::Collection;
use records::{AppId, ChatId, JsonObject};
use serde_json::Value;

use super::Archive;
use super::encoding::decode;
use super::reservation::reservation_filter;
use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::{CHAT_SEGMENTS, CHAT_SESSIONS};
use crate::mongo::collections::{COLLECTIONS, StoredCollection};
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{CHAT, Lineage, Segment, open_chat_session};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::purges::is_purged;

/// What became of a document of an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Restored {
    /// This call stored it.
    Stored,
    /// It was stored before.
    Known,
    /// The database has another document in its place, which stays, or it is missing from a chat that is there.
    Differs,
}

/// The reason why documents of an archive are not stored.
#[derive(Debug, thiserror::Error)]
pub enum RestoreError {
    /// A document cannot be one of the archive; its index among the documents, and the reason.
    #[error("{1}")]
    Refused(usize, String),
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Where the documents of an archive belong.
#[derive(Debug, Clone, Copy)]
pub enum RestoreInto<'a> {
    /// The app itself.
    App,
    /// A chat that the database does not have yet: its id is reserved, see [`MongoStore::reserve_chat`].
    NewChat(&'a ChatId),
    /// A chat that the database has: its documents are only compared.
    ExistingChat(&'a ChatId),
}

/// The sealed messages that an archive has held so far, and the database has now: a fork may share these alone.
///
/// Otherwise an archive could name any chat of the app as the source of one of its own, and show its messages.
#[derive(Debug, Default)]
pub struct HeldSegments {
    /// For each chat, where its segments begin and end.
    of_chats: HashMap<ChatId, BTreeMap<u64, u64>>,
}

impl HeldSegments {
    /// Adds a segment.
    fn hold(&mut self, raw: &RawDocument) -> Result<(), StoreError> {
        let fields = Fields::open(CHAT_SEGMENTS, "(a document)", raw)?;
        let chat_id: ChatId = fields.inside(fields.document("_id")?).parsed("chat_id")?;
        let (first_sequence, fields) = Segment::open(&chat_id, raw)?;
        let messages = fields.documents("messages")?.count() as u64;
        let of_chat = self.of_chats.entry(chat_id).or_default();
        of_chat.insert(first_sequence, first_sequence + messages);
        Ok(())
    }

    /// Returns a chat whose sealed messages a session shares and the archive does not hold; `None` if it holds them all.
    fn missing(&self, session: &RawDocument) -> Result<Option<ChatId>, StoreError> {
        if is_purged(session) {
            return Ok(None);
        }
        let fields = open_chat_session(session)?;
        let lineage = Lineage::read(&fields.parsed("_id")?, &fields)?;
        let mut from = 0;
        for base in lineage.bases() {
            let nothing = BTreeMap::new();
            let segments = self.of_chats.get(&base.chat_id).unwrap_or(&nothing);
            // A segment may begin before what is shared of it.
            let mut held = from;
            for (first, end) in segments {
                if *first <= held {
                    held = held.max(*end);
                }
            }
            if held < base.below {
                return Ok(Some(base.chat_id.clone()));
            }
            from = base.below;
        }
        Ok(None)
    }

    /// Forgets the segments of a chat that no fork shares.
    fn release(&mut self, session: &RawDocument) -> Result<(), StoreError> {
        let fields = open_chat_session(session)?;
        if fields.field("shared_below")?.is_null() {
            self.of_chats.remove(&fields.parsed("_id")?);
        }
        Ok(())
    }
}

impl RestoreInto<'_> {
    fn chat(&self) -> Option<&ChatId> {
        match self {
            Self::App => None,
            Self::NewChat(chat_id) | Self::ExistingChat(chat_id) => Some(chat_id),
        }
    }
}

impl MongoStore {
    /// Stores documents of one collection from an archive of an app, as they are. Nothing that is stored is changed.
    ///
    /// Safe to repeat. The documents of a new chat must be stored in the order of the archive: its session, the last one, makes
    /// the chat. If the reservation of its id is gone by then, because the chat was purged, it is not found. `held` is that of the whole archive, and a fork is refused whose sources are not in the archive before it.
    pub async fn restore_documents(
        &self,
        held: &mut HeldSegments,
        app_id: &AppId,
        into: RestoreInto<'_>,
        collection: &str,
        documents: &[Value],
    ) -> Result<Vec<Restored>, RestoreError> {
        let stored = COLLECTIONS.iter().find(|stored| stored.name == collection);
        let unknown = || RestoreError::Refused(0, format!("there is no collection {collection:?}"));
        let stored = stored.ok_or_else(unknown)?;
        let checked = documents.iter().enumerate().map(|(index, document)| {
            checked(stored, app_id, into.chat(), document)
                .map_err(|reason| RestoreError::Refused(index, reason))
        });
        let documents: Vec<RawDocumentBuf> = checked.collect::<Result<_, _>>()?;
        if stored.name == CHAT_SESSIONS {
            for (index, session) in documents.iter().enumerate() {
                if let Some(source) = held.missing(session)? {
                    let reason = format!(
                        "it shares messages of the chat {source}, which are not in the archive before it, or not those of the database"
                    );
                    return Err(RestoreError::Refused(index, reason));
                }
            }
        }
        let mut restored = match into {
            RestoreInto::NewChat(chat_id) if stored.name == CHAT_SESSIONS => {
                self.store_session(app_id, chat_id, &documents).await?
            }
            into => {
                let inserts = !matches!(into, RestoreInto::ExistingChat(_));
                let collection = self.inner.database.collection(stored.name);
                self.store_all(&collection, &documents, inserts).await?
            }
        };
        // Statistics that were added up before the session was there have counted no chat. They are added up again.
        if let (RestoreInto::NewChat(_), Archive::RollupOfChat) = (into, stored.archive) {
            for restored in restored.iter_mut().filter(|it| **it == Restored::Differs) {
                *restored = Restored::Known;
            }
        }
        for (document, restored) in documents.iter().zip(&restored) {
            match stored.name {
                CHAT_SEGMENTS if *restored != Restored::Differs => held.hold(document)?,
                CHAT_SESSIONS => held.release(document)?,
                _ => {}
            }
        }
        Ok(restored)
    }

    async fn store_all(
        &self,
        collection: &Collection<RawDocumentBuf>,
        documents: &[RawDocumentBuf],
        inserts: bool,
    ) -> Result<Vec<Restored>, StoreError> {
        let mut restored: Vec<Option<Restored>> = vec![None; documents.len()];
        loop {
            let found = self.read(|| found(collection, documents)).await?;
            let mut missing = Vec::new();
            for (document, restored) in documents.iter().zip(&mut restored) {
                match found.get(&id_bytes(document)) {
                    // A document that an earlier round has inserted.
                    Some(_) if *restored == Some(Restored::Stored) => {}
                    Some(same) if same == document => *restored = Some(Restored::Known),
                    None if inserts => {
                        *restored = Some(Restored::Stored);
                        missing.push(document.clone());
                    }
                    Some(_) | None => *restored = Some(Restored::Differs),
                }
            }
            if missing.is_empty() || self.insert(collection, missing).await? {
                return Ok(restored.into_iter().flatten().collect());
            }
        }
    }

    /// Replaces the reservation of a chat by its session.
    async fn store_session(
        &self,
        app_id: &AppId,
        chat_id: &ChatId,
        documents: &[RawDocumentBuf],
    ) -> Result<Vec<Restored>, StoreError> {
        let sessions = &self.inner.chat_sessions;
        let mut restored = Vec::new();
        for session in documents {
            let stored = self.write_until(self.deadline(), |attempt| async move {
                let reserved = reservation_filter(app_id, chat_id);
                if sessions.replace_one(reserved, session).await?.matched_count > 0 {
                    return Ok(Restored::Stored);
                }
                let found = found(sessions, std::slice::from_ref(session)).await?;
                match found.into_values().next() {
                    None => Err(StoreError::ChatNotFound(chat_id.clone()).into()),
                    Some(same) if same == *session && attempt.may_have_applied() => {
                        Ok(Restored::Stored)
                    }
                    Some(same) if same == *session => Ok(Restored::Known),
                    Some(_) => Ok(Restored::Differs),
                }
            });
            restored.push(stored.await?);
        }
        Ok(restored)
    }

    /// Inserts documents; returns whether all were new.
    async fn insert(
        &self,
        collection: &Collection<RawDocumentBuf>,
        documents: Vec<RawDocumentBuf>,
    ) -> Result<bool, StoreError> {
        self.write_until(self.deadline(), |_| async {
            match collection.insert_many(&documents).ordered(false).await {
                Ok(_) => Ok(true),
                Err(error) if is_duplicate_key(&error) => Ok(false),
                Err(error) => Err(error.into()),
            }
        })
        .await
    }
}

/// Returns the stored documents that have the ids of documents.
async fn found(
    collection: &Collection<RawDocumentBuf>,
    documents: &[RawDocumentBuf],
) -> Result<HashMap<Vec<u8>, RawDocumentBuf>, Failure> {
    let ids = documents.iter().filter_map(|raw| Bson::try_from(raw.get("_id").ok()??).ok());
    let ids: Vec<Bson> = ids.collect();
    let mut cursor = collection.find(doc! { "_id": { "$in": ids } }).await?;
    let mut found = HashMap::new();
    while let Some(document) = cursor.try_next().await? {
        found.insert(id_bytes(&document), document);
    }
    Ok(found)
}

/// Returns the bytes of the id of a document. A document without one was refused before.
fn id_bytes(document: &RawDocument) -> Vec<u8> {
    let mut id = RawDocumentBuf::new();
    if let Ok(Some(value)) = document.get("_id") {
        id.append(bson::raw::cstr!("_id"), value);
    }
    id.into_bytes()
}

/// Reads a document as the calls of its record do, and checks that it belongs to the app and the chat.
fn checked(
    stored: &StoredCollection,
    app_id: &AppId,
    chat_id: Option<&ChatId>,
    document: &Value,
) -> Result<RawDocumentBuf, String> {
    let object: &JsonObject = document.as_object().ok_or("the document is not an object")?;
    let raw = decode(object).map_err(|error| error.to_string())?;
    (stored.rewrite)(&raw).map_err(reason)?;
    let owner = owner_of(stored, &raw).map_err(|error| error.to_string())?;
    let Some((app, chat)) = owner else {
        return Err(format!("an archive has no documents of {}", stored.name));
    };
    if app != app_id.as_str() {
        return Err(format!("the document is of the app {app:?}"));
    }
    if chat.as_deref() != chat_id.map(ChatId::as_str) {
        let chat = chat.as_deref().unwrap_or("none");
        return Err(format!("the document is of another chat: {chat}"));
    }
    Ok(raw)
}

fn reason(failure: Failure) -> String {
    failure.into_final().map_or_else(|cause| cause.to_string(), |error| error.to_string())
}

/// Returns the app and the chat of a document; `None` if an archive takes none of its collection.
fn owner_of(
    stored: &StoredCollection,
    raw: &RawDocument,
) -> Result<Option<(String, Option<String>)>, StoreError> {
    let fields = Fields::open(stored.name, "(a document)", raw)?;
    let inside = |name| {
        let id = fields.inside(fields.document("_id")?);
        Ok::<_, StoreError>(id.field(name)?.text()?.to_owned())
    };
    let text = |name| Ok::<_, StoreError>(fields.field(name)?.text()?.to_owned());
    Ok(match stored.archive {
        Archive::OfChat => Some((text("app_id")?, Some(inside("chat_id")?))),
        Archive::OneOfChat | Archive::Session => Some((text("app_id")?, Some(text("_id")?))),
        Archive::RollupOfChat if inside("kind")? == CHAT => {
            Some((inside("app_id")?, Some(inside("name")?)))
        }
        Archive::App => Some((text("_id")?, None)),
        Archive::Wallets | Archive::Assistants => Some((inside("app_id")?, None)),
        Archive::Documents => {
            let chat_id = fields.optional_text("chat_id")?.map(str::to_owned);
            Some((inside("app_id")?, chat_id))
        }
        Archive::WalletEntries => Some((text("app_id")?, None)),
        Archive::RollupOfChat | Archive::LeavesOut(_) => None,
    })
}
