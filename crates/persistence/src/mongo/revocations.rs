use async_trait::async_trait;
use bson::{DateTime, Document, RawDocument, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::options::ReturnDocument;
use records::{
    Actor, AppId, AuditAction, NewRevocation, Revocation, RevocationKey, RevocationTarget, TokenId,
    UserId,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::REVOCATIONS;
use crate::mongo::documents::stored::{FieldError, read_record};
use crate::mongo::documents::{NEWEST_VERSION, SCHEMA_VERSION};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::paging::limit_and_one;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::audit::Audited;
use crate::store::{RevocationCursor, RevocationEntry, RevocationPage, Revocations};

/// The stored form of a time that never comes: the last millisecond of the year 9999.
///
/// `$max` then keeps the later of two times in one update, also if one of them is never.
const NEVER: DateTime = DateTime::from_millis(253_402_300_799_999);

#[async_trait]
impl Revocations for MongoStore {
    async fn revoke(&self, actor: &Actor, new: NewRevocation) -> Result<Revocation, StoreError> {
        self.observe(Call::Revoke, None, async {
            let audited = Audited::of_revocation(actor, &new.key, AuditAction::RevokeTokens);
            let update = RevocationUpdate::new(new, self.inner.clock.now());
            let entry_id = self.mint_audit_id();
            self.write(|call| async move {
                let round = |tx| call.revoke_round(tx, &update, &audited, &entry_id);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }

    async fn lift_revocation(
        &self,
        actor: &Actor,
        key: &RevocationKey,
    ) -> Result<bool, StoreError> {
        self.observe(Call::LiftRevocation, None, async {
            let audited = Audited::of_revocation(actor, key, AuditAction::LiftRevocation);
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
                let round = |tx| call.lift_revocation_round(tx, &filter, &change, &audited);
                call.transact_without_chat(round).await
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

/// A revocation as the update of its document.
pub(crate) struct RevocationUpdate {
    pub(crate) filter: Document,
    change: Document,
    asked: Revocation,
}

impl RevocationUpdate {
    pub(crate) fn new(new: NewRevocation, now: chrono::DateTime<chrono::Utc>) -> Self {
        let expires_at = new.kept_until(now);
        let NewRevocation { key, issued_until, .. } = new;
        let stored = |time: Option<_>| time.map_or(NEVER, DateTime::from_chrono);
        let change = doc! {
            "$setOnInsert": { "schema_version": SCHEMA_VERSION },
            "$set": { "is_lifted": false },
            "$max": {
                "issued_until": match key.target {
                    RevocationTarget::Token(_) => None,
                    RevocationTarget::User(_) => Some(stored(issued_until)),
                },
                "revoked_at": DateTime::from_chrono(now),
                "expires_at": stored(expires_at),
            },
            // The clock of the database, because the clocks of its clients differ.
            "$currentDate": { "changed_at": true },
        };
        let filter = in_known_version(&key);
        let asked = Revocation { key, issued_until, revoked_at: now, expires_at };
        Self { filter, change, asked }
    }
}

impl MongoStore {
    async fn revoke_round(
        &self,
        tx: Transaction<'_>,
        update: &RevocationUpdate,
        audited: &Audited,
        entry_id: &str,
    ) -> Result<Round<Revocation>, Failure> {
        self.read_format_once().await?;
        let found = self.find_revocation(&update.filter).await?;
        // Only the entry tells whether an earlier attempt was committed.
        if !tx.is_first() && self.has_audit_entry(entry_id).await? {
            let revocation = found.map_or_else(|| update.asked.clone(), |found| found.revocation);
            return Ok(Round::Done(revocation));
        }
        if !self.revocations_have_room().await? {
            return Err(StoreError::TooManyRevocations.into());
        }
        let entry = self.audit_document_with_id(audited, entry_id.to_owned()).await?;
        tx.begin().await?;
        let Some(revocation) = self.put_revocation(&tx, update).await? else {
            return Ok(Round::Again);
        };
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(revocation))
    }

    async fn lift_revocation_round(
        &self,
        tx: Transaction<'_>,
        filter: &Document,
        change: &Document,
        audited: &Audited,
    ) -> Result<Round<bool>, Failure> {
        let Some(found) = self.find_revocation(filter).await? else {
            return Ok(Round::Done(false));
        };
        // An earlier attempt may have lifted the revocation.
        if found.is_lifted {
            return Ok(Round::Done(true));
        }
        let entry = self.audit_document(audited).await?;
        let mut filter = filter.clone();
        filter.insert("is_lifted", false);
        tx.begin().await?;
        let update = self.inner.revocations.update_one(filter, change.clone());
        let updated = update.session(&mut *tx.session().await?).await?;
        if updated.matched_count == 0 {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(true))
    }

    /// Puts a revocation on the list, within a transaction. Call
    /// [`find_revocation`](Self::find_revocation) before the transaction begins.
    pub(crate) async fn put_revocation(
        &self,
        tx: &Transaction<'_>,
        update: &RevocationUpdate,
    ) -> Result<Option<Revocation>, Failure> {
        let RevocationUpdate { filter, change, .. } = update;
        let put = self.inner.revocations.find_one_and_update(filter.clone(), change.clone());
        let put = put.upsert(true).return_document(ReturnDocument::After);
        let stored = put.session(&mut *tx.session().await?).await?;
        Ok(stored.map(|raw| revocation_entry(&raw)).transpose()?.map(|entry| entry.revocation))
    }

    /// Returns whether the list can hold one more revocation.
    pub(crate) async fn revocations_have_room(&self) -> Result<bool, Failure> {
        Ok(self.inner.revocations.estimated_document_count().await? < Revocation::MAX as u64)
    }

    /// Returns the revocation that a filter names. Fails if only newer releases can read it.
    pub(crate) async fn find_revocation(
        &self,
        filter: &Document,
    ) -> Result<Option<RevocationEntry>, Failure> {
        let id = filter.get("_id").cloned().unwrap_or_default();
        let found = self.inner.revocations.find_one(doc! { "_id": id }).await?;
        Ok(found.map(|raw| revocation_entry(&raw)).transpose()?)
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
