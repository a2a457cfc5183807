use async_trait::async_trait;
use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use records::{
    Actor, ActorRole, AppId, AuditAction, AuditEntry, AuditEntryId, ChatId, Pseudonym,
    PseudonymKey, Scope, UserId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::{AUDIT_ENTRIES, PSEUDONYM_KEYS};
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::inserts::insert_or_get;
use crate::mongo::engine::paging::{limit_and_one, older_than};
use crate::mongo::engine::transaction::Transaction;
use crate::rules::audit::{Audited, Pseudonyms, new_key};
use crate::store::{AuditCursor, AuditFilter, AuditLog, AuditPage};

#[async_trait]
impl AuditLog for MongoStore {
    async fn record_chat_read(
        &self,
        scope: &Scope,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.observe(Call::RecordChatRead, chat_id, async {
            let audited = Audited::in_scope(scope, chat_id, action);
            if let Some(chat_id) = chat_id {
                self.read(|| self.session_within(scope, chat_id, doc! { "_id": 1 })).await?;
            }
            self.write_read_entry(audited).await
        })
        .await
    }

    async fn record_registry_read(
        &self,
        actor: &Actor,
        app_id: Option<&AppId>,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.observe(Call::RecordRegistryRead, None, async {
            self.write_read_entry(Audited::of_registry(actor, app_id, action)).await
        })
        .await
    }

    async fn record_action(
        &self,
        actor: &Actor,
        app_id: Option<&AppId>,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Result<(), StoreError> {
        self.observe(Call::RecordAction, None, async {
            self.write_entry(Audited::of_operator(actor, app_id, chat_id, action)).await
        })
        .await
    }

    async fn list_audit_entries(
        &self,
        filter: &AuditFilter,
        limit: usize,
        after: Option<&AuditCursor>,
    ) -> Result<AuditPage, StoreError> {
        self.observe(Call::ListAuditEntries, None, async {
            let query = list_query(filter, after);
            let list = || async {
                let find = self.inner.audit_entries.find(query.clone());
                let find = find.sort(doc! { "at": -1, "_id": -1 }).limit(limit_and_one(limit));
                let found: Vec<RawDocumentBuf> = find.await?.try_collect().await?;
                let entries = found.iter().map(|raw| entry_record(raw));
                Ok(AuditPage::cut(entries.collect::<Result<_, _>>()?, limit))
            };
            self.read(list).await
        })
        .await
    }

    async fn get_pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<Option<Pseudonym>, StoreError> {
        self.observe(Call::GetPseudonym, None, async {
            let key = self.read(|| self.find_pseudonym_key(app_id, user_id)).await?;
            Ok(key.map(|key| key.pseudonym(user_id)))
        })
        .await
    }

    async fn destroy_pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        let destroying = self.delete_pseudonym_key(app_id, user_id);
        self.observe(Call::DestroyPseudonym, None, destroying).await
    }
}

impl MongoStore {
    /// Encodes the entry of an action, to be inserted in the transaction of the action.
    ///
    /// Call this before the transaction begins: it may store a new key, which stays if the transaction is aborted.
    pub(crate) async fn audit_document(
        &self,
        audited: &Audited,
    ) -> Result<RawDocumentBuf, Failure> {
        self.audit_document_with_id(audited, self.mint_audit_id()).await
    }

    /// Encodes the entry of an action that may need none.
    pub(crate) async fn audit_document_of(
        &self,
        audited: Option<&Audited>,
    ) -> Result<Option<RawDocumentBuf>, Failure> {
        match audited {
            Some(audited) => self.audit_document(audited).await.map(Some),
            None => Ok(None),
        }
    }

    /// Encodes the entry of an action under an id that all attempts of the call share. So the entry is also the mark by
    /// which a later attempt finds that an earlier one was committed.
    pub(crate) async fn audit_document_with_id(
        &self,
        audited: &Audited,
        id: String,
    ) -> Result<RawDocumentBuf, Failure> {
        let pseudonyms = self.pseudonyms(audited).await?;
        self.encode_entry(&audited.entry(id, self.inner.clock.now(), pseudonyms)?)
    }

    /// Makes the id of an entry.
    pub(crate) fn mint_audit_id(&self) -> String {
        self.inner.ids.mint("audit_")
    }

    /// Returns whether an entry is stored.
    pub(crate) async fn has_audit_entry(&self, id: &str) -> Result<bool, Failure> {
        Ok(self.inner.audit_entries.find_one(doc! { "_id": id }).await?.is_some())
    }

    /// Inserts an entry in the transaction of its action.
    pub(crate) async fn insert_audit_document(
        &self,
        tx: &Transaction<'_>,
        document: &RawDocumentBuf,
    ) -> Result<(), Failure> {
        let insert = self.inner.audit_entries.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        Ok(())
    }

    /// Stores the entry of an action that is no transaction.
    pub(crate) async fn write_entry(&self, audited: Audited) -> Result<(), StoreError> {
        let (id, at) = (self.mint_audit_id(), self.inner.clock.now());
        self.write(|call| async move {
            call.attempt(|_| async {
                let entry = audited.entry(id.clone(), at, call.pseudonyms(&audited).await?)?;
                call.insert_entry_once(&entry).await
            })
            .await
        })
        .await
    }

    /// Stores the entry of a read, unless the entry of an equal one in the same minute exists.
    async fn write_read_entry(&self, audited: Audited) -> Result<(), StoreError> {
        let at = self.inner.clock.now();
        self.write(|call| async move {
            call.attempt(|_| async {
                let entry = audited.read_entry(at, call.pseudonyms(&audited).await?)?;
                call.insert_entry_once(&entry).await
            })
            .await
        })
        .await
    }

    /// Inserts an entry, unless an entry with its id is stored.
    async fn insert_entry_once(&self, entry: &AuditEntry) -> Result<(), Failure> {
        let document = self.encode_entry(entry)?;
        let entries = &self.inner.audit_entries;
        let one = doc! { "_id": entry.entry_id.as_str() };
        let find = || async { Ok(entries.find_one(one.clone()).await?) };
        insert_or_get(entries, &document, find).await.map(|_| ())
    }

    fn encode_entry(&self, entry: &AuditEntry) -> Result<RawDocumentBuf, Failure> {
        let expires_at = self.inner.audit_keep.and_then(|keep| entry.at.checked_add_signed(keep));
        encode(&AuditEntryDocument::new(entry, expires_at.map(DateTime::from_chrono)))
    }

    /// Returns the pseudonyms of the persons of an action, and makes the missing keys.
    async fn pseudonyms(&self, audited: &Audited) -> Result<Pseudonyms, Failure> {
        let app_id = audited.app_id();
        let mut pseudonyms = Pseudonyms::default();
        if let Some(person) = audited.person() {
            pseudonyms.actor = Some(self.pseudonym(app_id, person).await?);
        }
        if let Some(subject) = audited.subject() {
            pseudonyms.subject = Some(self.pseudonym(app_id, subject).await?);
        }
        Ok(pseudonyms)
    }

    pub(crate) async fn pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<Pseudonym, Failure> {
        let find = || self.find_pseudonym_key(app_id, user_id);
        if let Some(key) = find().await? {
            return Ok(key.pseudonym(user_id));
        }
        let key = new_key()?;
        let document = encode(&PseudonymKeyDocument::new(app_id, user_id, &key))?;
        // Another call may have made the key first.
        let found = insert_or_get(&self.inner.pseudonym_keys, &document, find).await?;
        Ok(found.unwrap_or(key).pseudonym(user_id))
    }

    pub(crate) async fn delete_pseudonym_key(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<(), StoreError> {
        let key = key_filter(app_id, user_id);
        self.write(|call| async move {
            call.attempt(|_| async {
                call.inner.pseudonym_keys.delete_one(key.clone()).await?;
                Ok(())
            })
            .await
        })
        .await
    }

    async fn find_pseudonym_key(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<Option<PseudonymKey>, Failure> {
        let found = self.inner.pseudonym_keys.find_one(key_filter(app_id, user_id)).await?;
        Ok(found.map(|raw| pseudonym_key(&raw)).transpose()?)
    }
}

fn key_filter(app_id: Option<&AppId>, user_id: &UserId) -> Document {
    doc! { "_id": { "app_id": app_id.map(AppId::as_str), "user_id": user_id.as_str() } }
}

fn list_query(filter: &AuditFilter, after: Option<&AuditCursor>) -> Document {
    let AuditFilter { app_id, chat_id, person, action, since, until } = filter;
    let mut query = Document::new();
    let mut conditions = Vec::new();
    if let Some(app_id) = app_id {
        query.insert("app_id", app_id.as_str());
    }
    if let Some(chat_id) = chat_id {
        query.insert("chat_id", chat_id.as_str());
    }
    if let Some(action) = action {
        query.insert("action", action.as_str());
    }
    if let Some(person) = person {
        query.insert("persons", person.to_string());
    }
    if let Some(since) = since {
        conditions.push(doc! { "at": { "$gte": DateTime::from_chrono(*since) } });
    }
    if let Some(until) = until {
        conditions.push(doc! { "at": { "$lt": DateTime::from_chrono(*until) } });
    }
    if let Some(AuditCursor { at, entry_id }) = after {
        conditions.extend(older_than("at", *at, "_id", entry_id.as_str()));
    }
    if !conditions.is_empty() {
        query.insert("$and", conditions);
    }
    query
}

/// A stored entry of the audit log.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AuditEntryDocument {
    #[serde(rename = "_id")]
    entry_id: AuditEntryId,
    at: DateTime,
    app_id: Option<AppId>,
    chat_id: Option<ChatId>,
    action: StoredName<AuditAction>,
    role: StoredName<ActorRole>,
    actor: Option<String>,
    subject: Option<String>,
    /// The actor and the subject, each once, for the index.
    persons: Vec<String>,
    network: Option<String>,
    request_id: Option<String>,
    expires_at: Option<DateTime>,
    schema_version: i64,
}

impl AuditEntryDocument {
    fn new(entry: &AuditEntry, expires_at: Option<DateTime>) -> Self {
        let subject = entry.subject.filter(|subject| entry.actor != Some(*subject));
        let persons = entry.actor.into_iter().chain(subject);
        Self {
            entry_id: entry.entry_id.clone(),
            at: DateTime::from_chrono(entry.at),
            app_id: entry.app_id.clone(),
            chat_id: entry.chat_id.clone(),
            action: StoredName(entry.action),
            role: StoredName(entry.role),
            actor: entry.actor.map(|actor| actor.to_string()),
            subject: entry.subject.map(|subject| subject.to_string()),
            persons: persons.map(|person| person.to_string()).collect(),
            network: entry.network.map(|network| network.to_string()),
            request_id: entry.request_id.as_ref().map(|id| id.as_str().to_owned()),
            expires_at,
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl TryFrom<AuditEntryDocument> for AuditEntry {
    type Error = FieldError;

    fn try_from(document: AuditEntryDocument) -> Result<Self, FieldError> {
        let pseudonym = |text: Option<String>, field| {
            let parsed = text.map(|text| text.parse::<Pseudonym>()).transpose();
            parsed.map_err(|_| FieldError::new(field))
        };
        let network = document.network.map(|text| text.parse()).transpose();
        let request_id = document.request_id.map(|text| text.parse()).transpose();
        Ok(Self {
            entry_id: document.entry_id,
            at: document.at.to_chrono(),
            app_id: document.app_id,
            chat_id: document.chat_id,
            action: document.action.0,
            role: document.role.0,
            actor: pseudonym(document.actor, "actor")?,
            subject: pseudonym(document.subject, "subject")?,
            network: network.map_err(|_| FieldError::new("network"))?,
            request_id: request_id.map_err(|_| FieldError::new("request_id"))?,
        })
    }
}

/// Reads an entry of the audit log.
pub(crate) fn entry_record(raw: &RawDocument) -> Result<AuditEntry, StoreError> {
    read_record::<AuditEntryDocument, _>(AUDIT_ENTRIES, raw)
}

/// The stored key that ties the pseudonym of a person in an app to the person.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct PseudonymKeyDocument {
    #[serde(rename = "_id")]
    id: KeyId,
    #[serde(with = "serde_bytes")]
    key: Vec<u8>,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeyId {
    /// Null for the registry of apps as a whole.
    app_id: Option<AppId>,
    user_id: UserId,
}

impl PseudonymKeyDocument {
    fn new(app_id: Option<&AppId>, user_id: &UserId, key: &PseudonymKey) -> Self {
        let id = KeyId { app_id: app_id.cloned(), user_id: user_id.clone() };
        Self { id, key: key.as_bytes().to_vec(), schema_version: SCHEMA_VERSION }
    }
}

impl TryFrom<PseudonymKeyDocument> for PseudonymKey {
    type Error = FieldError;

    fn try_from(document: PseudonymKeyDocument) -> Result<Self, FieldError> {
        let key = document.key.try_into().map_err(|_| FieldError::new("key"))?;
        Ok(Self::new(key))
    }
}

/// Reads a key.
pub(crate) fn pseudonym_key(raw: &RawDocument) -> Result<PseudonymKey, StoreError> {
    read_record::<PseudonymKeyDocument, _>(PSEUDONYM_KEYS, raw)
}
