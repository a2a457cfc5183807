use async_trait::async_trait;
use bson::{DateTime, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{
    AccessKey, AccessKeyDigest, AccessKeyId, AccessKeyKind, AccessKeyLabel, AppId, Bearer,
    NewAccessKey, TeamId, UserId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collections::ACCESS_KEYS;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::word::StoredName;
use crate::mongo::documents::{NEWEST_VERSION, SCHEMA_VERSION, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::inserts::insert_or_get;
use crate::mongo::engine::paging::limit_and_one;
use crate::rules::access_keys::{created, forgotten_at};
use crate::store::{AccessKeyPage, AccessKeys};

#[async_trait]
impl AccessKeys for MongoStore {
    async fn create_access_key(&self, key: NewAccessKey) -> Result<AccessKey, StoreError> {
        self.observe(Call::CreateAccessKey, None, async {
            let key = created(key, self.inner.clock.now());
            let document = encode(&AccessKeyDocument::from(&key))?;
            self.write(|call| async move {
                call.attempt(|_| async {
                    call.read_format_once().await?;
                    let find = || call.access_key(&key.id);
                    let found = insert_or_get(&call.inner.access_keys, &document, find).await?;
                    Ok(found.unwrap_or_else(|| key.clone()))
                })
                .await
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

    async fn revoke_access_key(&self, id: &AccessKeyId) -> Result<Option<AccessKey>, StoreError> {
        self.observe(Call::RevokeAccessKey, None, async {
            let filter = doc! {
                "_id": id.as_str(),
                "revoked_at": null,
                "schema_version": { "$lte": NEWEST_VERSION },
            };
            let now = DateTime::from_chrono(self.inner.clock.now());
            let change = doc! { "$set": { "revoked_at": now } };
            let id = id.clone();
            self.write(|call| async move {
                call.attempt(|_| async {
                    let keys = &call.inner.access_keys;
                    let updating = keys.find_one_and_update(filter.clone(), change.clone());
                    if let Some(raw) = updating.return_document(ReturnDocument::After).await? {
                        return Ok(Some(access_key_record(&raw)?));
                    }
                    // There is none, or it is revoked already, perhaps by an earlier attempt.
                    call.access_key(&id).await
                })
                .await
            })
            .await
        })
        .await
    }
}

impl MongoStore {
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
