use async_trait::async_trait;
use bson::{DateTime, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{
    AccessKey, AccessKeyDigest, AccessKeyId, AccessKeyKind, AccessKeyLabel, Actor, AppId,
    AuditAction, Bearer, NewAccessKey, TeamId, UserId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::ACCESS_KEYS;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{NEWEST_VERSION, SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::limit_and_one;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::mongo::revocations::RevocationUpdate;
use crate::rules::access_keys::{created, forgotten_at};
use crate::rules::audit::Audited;
use crate::store::{AccessKeyPage, AccessKeys};

#[async_trait]
impl AccessKeys for MongoStore {
    async fn create_access_key(
        &self,
        actor: Option<&Actor>,
        key: NewAccessKey,
    ) -> Result<AccessKey, StoreError> {
        self.observe(Call::CreateAccessKey, None, async {
            let key = created(key, self.inner.clock.now());
            let audited = actor.map(|actor| Audited::of_key(actor, &key, AuditAction::CreateKey));
            self.write(|call| async move {
                let round = |tx| call.create_access_key_round(tx, &key, audited.as_ref());
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }

    async fn find_access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, StoreError> {
        let reading = self.read(|| async { self.access_key(id).await });
        self.observe(Call::FindAccessKey, None, reading).await
    }

    async fn list_access_keys(
        &self,
        kind: AccessKeyKind,
        limit: usize,
        after: Option<&AccessKeyId>,
    ) -> Result<AccessKeyPage, StoreError> {
        self.observe(Call::ListAccessKeys, None, async {
            let after = after.map_or("", AccessKeyId::as_str);
            let filter = doc! { "kind": kind.as_str(), "_id": { "$gt": after } };
            let found: Vec<RawDocumentBuf> = self
                .read(|| async {
                    let find = self.inner.access_keys.find(filter.clone());
                    let cursor = find.sort(doc! { "_id": 1 }).limit(limit_and_one(limit)).await?;
                    Ok(cursor.try_collect().await?)
                })
                .await?;
            let keys = found.iter().map(|raw| access_key_record(raw));
            Ok(AccessKeyPage::cut(keys.collect::<Result<_, _>>()?, limit))
        })
        .await
    }

    async fn use_access_key(&self, id: &AccessKeyId) -> Result<(), StoreError> {
        self.observe(Call::UseAccessKey, None, async {
            let filter = doc! { "_id": id.as_str(), "schema_version": { "$lte": NEWEST_VERSION } };
            let now = DateTime::from_chrono(self.inner.clock.now());
            // Of several processes that note a use, the latest time stays.
            let change = doc! { "$max": { "last_used_at": now } };
            self.write(|call| async move {
                call.attempt(|_| async {
                    call.inner.access_keys.update_one(filter.clone(), change.clone()).await?;
                    Ok(())
                })
                .await
            })
            .await
        })
        .await
    }

    async fn revoke_access_key(
        &self,
        actor: Option<&Actor>,
        id: &AccessKeyId,
    ) -> Result<Option<AccessKey>, StoreError> {
        self.observe(Call::RevokeAccessKey, None, async {
            let (actor, id, now) = (actor.cloned(), id.clone(), self.inner.clock.now());
            self.write(|call| async move {
                let round = |tx| call.revoke_access_key_round(tx, actor.as_ref(), &id, now);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    async fn create_access_key_round(
        &self,
        tx: Transaction<'_>,
        key: &AccessKey,
        audited: Option<&Audited>,
    ) -> Result<Round<AccessKey>, Failure> {
        self.read_format_once().await?;
        // An earlier attempt may have stored the key.
        if let Some(found) = self.access_key(&key.id).await? {
            return Ok(Round::Done(found));
        }
        let document = encode(&AccessKeyDocument::from(key))?;
        let entry = self.audit_document_of(audited).await?;
        tx.begin().await?;
        let insert = self.inner.access_keys.insert_one(document);
        insert.session(&mut *tx.session().await?).await?;
        if let Some(entry) = entry {
            self.insert_audit_document(&tx, &entry).await?;
        }
        Ok(Round::Done(key.clone()))
    }

    async fn revoke_access_key_round(
        &self,
        tx: Transaction<'_>,
        actor: Option<&Actor>,
        id: &AccessKeyId,
        now: chrono::DateTime<chrono::Utc>,
    ) -> Result<Round<Option<AccessKey>>, Failure> {
        let Some(key) = self.access_key(id).await? else { return Ok(Round::Done(None)) };
        // An earlier attempt may have revoked the key.
        if key.revoked_at.is_some() {
            return Ok(Round::Done(Some(key)));
        }
        let audited = actor.map(|actor| Audited::of_key(actor, &key, AuditAction::RevokeKey));
        let entry = self.audit_document_of(audited.as_ref()).await?;
        let revocation = self.revocation_of_key(&key, now).await?;
        let filter = doc! {
            "_id": id.as_str(),
            "revoked_at": null,
            "schema_version": { "$lte": NEWEST_VERSION },
        };
        let change = doc! { "$set": { "revoked_at": DateTime::from_chrono(now) } };
        tx.begin().await?;
        let update = self.inner.access_keys.find_one_and_update(filter, change);
        let update = update.return_document(ReturnDocument::After);
        let updated = update.session(&mut *tx.session().await?).await?;
        let Some(raw) = updated else { return Ok(Round::Again) };
        if let Some(revocation) = revocation {
            self.put_revocation(&tx, &revocation).await?;
        }
        if let Some(entry) = entry {
            self.insert_audit_document(&tx, &entry).await?;
        }
        Ok(Round::Done(Some(access_key_record(&raw)?)))
    }

    /// Returns what revokes a key on the list of revocations; `None` if the list is full. The key itself
    /// is refused also without it.
    async fn revocation_of_key(
        &self,
        key: &AccessKey,
        now: chrono::DateTime<chrono::Utc>,
    ) -> Result<Option<RevocationUpdate>, Failure> {
        let Some(new) = key.revocation() else { return Ok(None) };
        let update = RevocationUpdate::new(new, now);
        self.find_revocation(&update.filter).await?;
        let has_room = self.revocations_have_room().await?;
        if !has_room {
            tracing::warn!(key_id = %key.id, "the list of revocations is full, so streams of a revoked key go on");
        }
        Ok(has_room.then_some(update))
    }

    async fn access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, Failure> {
        let raw = self.inner.access_keys.find_one(doc! { "_id": id.as_str() }).await?;
        Ok(raw.map(|raw| access_key_record(&raw)).transpose()?)
    }
}

/// A stored access key.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AccessKeyDocument {
    #[serde(rename = "_id")]
    id: String,
    digest: String,
    kind: StoredName<AccessKeyKind>,
    label: Option<AccessKeyLabel>,
    role: Role,
    user_id: Option<UserId>,
    team_id: Option<TeamId>,
    apps: Option<Vec<AppId>>,
    created_at: DateTime,
    expires_at: Option<DateTime>,
    last_used_at: Option<DateTime>,
    revoked_at: Option<DateTime>,
    forget_at: Option<DateTime>,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    Service,
    Operator,
    Support,
    User,
}

impl From<&AccessKey> for AccessKeyDocument {
    fn from(key: &AccessKey) -> Self {
        let (role, team_id) = match &key.bearer {
            Bearer::Service => (Role::Service, None),
            Bearer::Operator { .. } => (Role::Operator, None),
            Bearer::Support { .. } => (Role::Support, None),
            Bearer::User { team_id, .. } => (Role::User, team_id.clone()),
        };
        Self {
            id: key.id.to_string(),
            digest: key.digest.to_string(),
            kind: StoredName(key.kind),
            label: key.label.clone(),
            role,
            user_id: key.bearer.person().cloned(),
            team_id,
            apps: key.apps.clone(),
            created_at: DateTime::from_chrono(key.created_at),
            expires_at: key.expires_at.map(DateTime::from_chrono),
            last_used_at: key.last_used_at.map(DateTime::from_chrono),
            revoked_at: key.revoked_at.map(DateTime::from_chrono),
            forget_at: forgotten_at(key).map(DateTime::from_chrono),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl TryFrom<AccessKeyDocument> for AccessKey {
    type Error = FieldError;

    fn try_from(document: AccessKeyDocument) -> Result<Self, FieldError> {
        let person = document.user_id.ok_or_else(|| FieldError::new("user_id"));
        let bearer = match document.role {
            Role::Service => Bearer::Service,
            Role::Operator => Bearer::Operator { user_id: person? },
            Role::Support => Bearer::Support { user_id: person? },
            Role::User => Bearer::User { user_id: person?, team_id: document.team_id },
        };
        let id = AccessKeyId::parse(&document.id).map_err(|_| FieldError::new("_id"))?;
        let digest = AccessKeyDigest::parse(&document.digest);
        Ok(Self {
            id,
            digest: digest.ok_or_else(|| FieldError::new("digest"))?,
            kind: document.kind.0,
            label: document.label,
            bearer,
            apps: document.apps,
            created_at: document.created_at.to_chrono(),
            expires_at: document.expires_at.map(DateTime::to_chrono),
            last_used_at: document.last_used_at.map(DateTime::to_chrono),
            revoked_at: document.revoked_at.map(DateTime::to_chrono),
        })
    }
}

/// Reads an access key.
pub(crate) fn access_key_record(raw: &RawDocument) -> Result<AccessKey, StoreError> {
    read_record::<AccessKeyDocument, _>(ACCESS_KEYS, raw)
}
