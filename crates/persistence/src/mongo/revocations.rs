use async_trait::async_trait;
use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{AppId, NewRevocation, Revocation, RevocationKey, RevocationTarget, TokenId, UserId};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collections::REVOCATIONS;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::{NEWEST_VERSION, SCHEMA_VERSION};
use crate::mongo::engine::failure::{Failure, is_duplicate_key};
use crate::mongo::engine::paging::limit_and_one;
use crate::store::{RevocationCursor, RevocationEntry, RevocationPage, Revocations};

/// The stored form of a time that never comes: the last millisecond of the year 9999.
///
/// `$max` then keeps the later of two times in one update, also if one of them is never.
const NEVER: DateTime = DateTime::from_millis(253_402_300_799_999);

#[async_trait]
impl Revocations for MongoStore {
    async fn revoke(&self, new: NewRevocation) -> Result<Revocation, StoreError> {
        self.observe(Call::Revoke, None, async {
            let now = self.inner.clock.now();
            let expires_at = new.kept_until(now).map_or(NEVER, DateTime::from_chrono);
            let issued_until = match new.key.target {
                RevocationTarget::Token(_) => None,
                RevocationTarget::User(_) => {
                    Some(new.issued_until.map_or(NEVER, DateTime::from_chrono))
                }
            };
            let filter = in_known_version(&new.key);
            let change = doc! {
                "$setOnInsert": { "schema_version": SCHEMA_VERSION },
                "$set": { "is_lifted": false },
                "$max": {
                    "issued_until": issued_until,
                    "revoked_at": DateTime::from_chrono(now),
                    "expires_at": expires_at,
                },
                // The clock of the database, because the clocks of its clients differ.
                "$currentDate": { "changed_at": true },
            };
            self.write(|call| async move {
                call.attempt(|_| async {
                    call.read_format_once().await?;
                    let revocations = &call.inner.revocations;
                    let held = revocations.estimated_document_count().await?;
                    if held >= Revocation::MAX as u64 {
                        return Err(StoreError::TooManyRevocations.into());
                    }
                    loop {
                        let updating = revocations
                            .find_one_and_update(filter.clone(), change.clone())
                            .upsert(true)
                            .return_document(ReturnDocument::After);
                        match updating.await {
                            Ok(Some(raw)) => return Ok(revocation_entry(&raw)?.revocation),
                            Ok(None) => {}
                            // Another call has inserted the document, or this release cannot read it.
                            Err(error) if is_duplicate_key(&error) => {
                                call.check_readable(&filter).await?;
                            }
                            Err(error) => return Err(error.into()),
                        }
                    }
                })
                .await
            })
            .await
        })
        .await
    }

    async fn lift_revocation(&self, key: &RevocationKey) -> Result<bool, StoreError> {
        self.observe(Call::LiftRevocation, None, async {
            let kept_until = self.inner.clock.now() + RevocationEntry::KEPT_LIFTED;
            let filter = in_known_version(key);
            let change = doc! {
                // A later revocation of the same target begins anew, so it must not find the moment.
                "$set": {
                    "is_lifted": true,
                    "issued_until": null,
                    "expires_at": DateTime::from_chrono(kept_until),
                },
                "$currentDate": { "changed_at": true },
            };
            self.write(|call| async move {
                call.attempt(|_| async {
                    let revocations = &call.inner.revocations;
                    let updated = revocations.update_one(filter.clone(), change.clone()).await?;
                    if updated.matched_count == 0 {
                        call.check_readable(&filter).await?;
                    }
                    Ok(updated.matched_count > 0)
                })
                .await
            })
            .await
        })
        .await
    }

    async fn list_revocations(
        &self,
        limit: usize,
        after: Option<&RevocationCursor>,
    ) -> Result<RevocationPage, StoreError> {
        self.observe(Call::ListRevocations, None, async {
            let filter = after.map(later_than).unwrap_or_default();
            let found: Vec<RawDocumentBuf> = self
                .read(|| async {
                    let find = self.inner.revocations.find(filter.clone());
                    let find = find.sort(doc! { "changed_at": 1, "_id": 1 });
                    Ok(find.limit(limit_and_one(limit)).await?.try_collect().await?)
                })
                .await?;
            let entries = found.iter().map(|raw| revocation_entry(raw));
            Ok(RevocationPage::cut(entries.collect::<Result<_, _>>()?, limit))
        })
        .await
    }
}

impl MongoStore {
    /// Fails if a document exists that only newer releases can read.
    async fn check_readable(&self, filter: &Document) -> Result<(), Failure> {
        let id = filter.get("_id").cloned().unwrap_or_default();
        let found = self.inner.revocations.find_one(doc! { "_id": id }).await?;
        if let Some(raw) = found {
            revocation_entry(&raw)?;
        }
        Ok(())
    }
}

fn in_known_version(key: &RevocationKey) -> Document {
    doc! { "_id": id_of(key), "schema_version": { "$lte": NEWEST_VERSION } }
}

/// Returns the conditions for the entries after a position. The first selects a range of the index, the second makes
/// it exact.
fn later_than(cursor: &RevocationCursor) -> Document {
    let at = DateTime::from_chrono(cursor.changed_at);
    match &cursor.key {
        None => doc! { "changed_at": { "$gte": at } },
        Some(key) => doc! {
            "changed_at": { "$gte": at },
            "$or": [
                { "changed_at": { "$gt": at } },
                { "changed_at": at, "_id": { "$gt": id_of(key) } },
            ],
        },
    }
}

/// Returns the id of a revocation, with its fields in the order in which they are stored.
fn id_of(key: &RevocationKey) -> Document {
    let (kind, id) = match &key.target {
        RevocationTarget::Token(token_id) => ("token", token_id.as_str()),
        RevocationTarget::User(user_id) => ("user", user_id.as_str()),
    };
    doc! { "kind": kind, "id": id, "app_id": key.app_id.as_ref().map(AppId::as_str) }
}

/// A stored revocation.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RevocationDocument {
    #[serde(rename = "_id")]
    id: IdDocument,
    /// For a user: which of the tokens; null for a token and after a lift.
    issued_until: Option<DateTime>,
    revoked_at: DateTime,
    expires_at: DateTime,
    is_lifted: bool,
    changed_at: DateTime,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct IdDocument {
    kind: Kind,
    id: String,
    app_id: Option<AppId>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Token,
    User,
}

impl TryFrom<RevocationDocument> for RevocationEntry {
    type Error = FieldError;

    fn try_from(document: RevocationDocument) -> Result<Self, FieldError> {
        let IdDocument { kind, id, app_id } = document.id;
        let target = match kind {
            Kind::Token => TokenId::try_from(id).map(RevocationTarget::Token),
            Kind::User => UserId::try_from(id).map(RevocationTarget::User),
        };
        let target = target.map_err(|_| FieldError::new("_id.id"))?;
        let key = RevocationKey { target, app_id };
        let revocation = Revocation {
            key,
            issued_until: document.issued_until.and_then(unless_never),
            revoked_at: document.revoked_at.to_chrono(),
            expires_at: unless_never(document.expires_at),
        };
        let changed_at = document.changed_at.to_chrono();
        Ok(Self { revocation, is_lifted: document.is_lifted, changed_at })
    }
}

fn unless_never(time: DateTime) -> Option<chrono::DateTime<chrono::Utc>> {
    (time < NEVER).then(|| time.to_chrono())
}

/// Reads a revocation.
pub(crate) fn revocation_entry(raw: &RawDocument) -> Result<RevocationEntry, StoreError> {
    read_record::<RevocationDocument, _>(REVOCATIONS, raw)
}
