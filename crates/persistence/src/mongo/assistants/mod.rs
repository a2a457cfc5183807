//! The assistants of apps, one document for each.

mod document;
mod list;

pub(crate) use document::{AssistantDocument, assistant_record};

use std::sync::Mutex;

use async_trait::async_trait;
use bson::{Document, doc};
use chrono::{DateTime, Utc};
use records::{
    AppId, Assistant, AssistantChange, AssistantId, AuditAction, NewAssistant, Permission, Scope,
};

use self::document::assistant_key;
use crate::StoreError;
use crate::metrics::Call;
use crate::mongo::MongoStore;
use crate::mongo::documents::{NEWEST_VERSION, counter, encode};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::format::Shape;
use crate::mongo::engine::transaction::{Round, Transaction};
use crate::rules::assistant::{AssistantWrite, Decision, check_manages, check_seen};
use crate::rules::audit::Audited;
use crate::store::{
    AssistantCursor, AssistantFilter, AssistantPage, AssistantTags, Assistants, DeletedAssistants,
    Written,
};

#[async_trait]
impl Assistants for MongoStore {
    async fn put_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        new: NewAssistant,
    ) -> Result<Written<Assistant>, StoreError> {
        self.observe(Call::PutAssistant, None, async {
            let write = AssistantWrite::Put(Box::new(new));
            self.write_assistant(scope, assistant_id, write).await.map(Decision::written)
        })
        .await
    }

    async fn change_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        change: AssistantChange,
    ) -> Result<Assistant, StoreError> {
        self.observe(Call::ChangeAssistant, None, async {
            let write = AssistantWrite::Change(Box::new(change));
            let decision = self.write_assistant(scope, assistant_id, write).await?;
            Ok(decision.written().record)
        })
        .await
    }

    async fn get_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
    ) -> Result<Option<Assistant>, StoreError> {
        self.observe(Call::GetAssistant, None, async {
            let found = self.read(|| self.assistant(&scope.app_id, assistant_id)).await?;
            let reach = scope.reach(Permission::Read);
            Ok(found.filter(|found| reach.includes_record(found)))
        })
        .await
    }

    async fn delete_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
    ) -> Result<bool, StoreError> {
        self.observe(Call::DeleteAssistant, None, async {
            let (scope, assistant_id) = (scope.clone(), assistant_id.clone());
            let entry_id = self.mint_audit_id();
            self.write(|call| async move {
                let round = |tx| call.delete_round(tx, &scope, &assistant_id, &entry_id);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }

    async fn list_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
        after: Option<&AssistantCursor>,
    ) -> Result<AssistantPage, StoreError> {
        self.observe(Call::ListAssistants, None, async {
            self.read(|| self.assistants_page(scope, filter, limit, after)).await
        })
        .await
    }

    async fn list_assistant_tags(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
    ) -> Result<AssistantTags, StoreError> {
        self.observe(Call::ListAssistantTags, None, async {
            self.read(|| self.assistant_tags(scope, filter)).await
        })
        .await
    }

    async fn delete_assistants(
        &self,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
    ) -> Result<DeletedAssistants, StoreError> {
        self.observe(Call::DeleteAssistants, None, async {
            let (scope, filter) = (scope.clone(), filter.clone());
            let (entry_id, sent) = (self.mint_audit_id(), Mutex::default());
            self.write(|call| async move {
                let round =
                    |tx| call.delete_page_round(tx, &scope, &filter, limit, &entry_id, &sent);
                call.transact_without_chat(round).await
            })
            .await
        })
        .await
    }
}

impl MongoStore {
    pub(super) async fn assistant(
        &self,
        app_id: &AppId,
        assistant_id: &AssistantId,
    ) -> Result<Option<Assistant>, Failure> {
        let one = doc! { "_id": assistant_key(app_id, assistant_id) };
        let found = self.inner.assistants.find_one(one).await?;
        Ok(found.map(|raw| assistant_record(&raw)).transpose()?)
    }

    async fn write_assistant(
        &self,
        scope: &Scope,
        assistant_id: &AssistantId,
        write: AssistantWrite,
    ) -> Result<Decision, StoreError> {
        write.check()?;
        let (scope, assistant_id) = (scope.clone(), assistant_id.clone());
        let (entry_id, now) = (self.mint_audit_id(), self.inner.clock.now());
        self.write(|call| async move {
            call.transact_without_chat(|tx| {
                let write = write.clone();
                call.write_round(tx, &scope, &assistant_id, write, &entry_id, now)
            })
            .await
        })
        .await
    }

    /// Reads the assistant, decides, and stores it on the condition that no other write came between. The entry of the audit
    /// log is the mark of the write.
    async fn write_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        assistant_id: &AssistantId,
        write: AssistantWrite,
        entry_id: &str,
        now: DateTime<Utc>,
    ) -> Result<Round<Decision>, Failure> {
        self.require(Shape::Assistants).await?;
        let is_written = self.is_audited(&tx, entry_id).await?;
        let stored = self.assistant(&scope.app_id, assistant_id).await?;
        if is_written {
            // Another call may have changed or deleted it since.
            let decision = match stored {
                Some(stored) => Decision::Store(stored),
                None => write.decide(&unconditional(scope), assistant_id, None, now)?,
            };
            return Ok(Round::Done(decision));
        }
        let audited = Audited::in_scope(scope, None, write.action());
        let decision = write.decide(scope, assistant_id, stored, now)?;
        let Decision::Store(assistant) = &decision else { return Ok(Round::Done(decision)) };
        let entry = self.audit_document_with_id(&audited, entry_id.to_owned()).await?;
        let document = encode(&AssistantDocument::from(assistant))?;
        let assistants = &self.inner.assistants;
        tx.begin().await?;
        if assistant.version == 1 {
            assistants.insert_one(document).session(&mut *tx.session().await?).await?;
        } else {
            let before = version_filter(assistant, assistant.version - 1);
            let replace = assistants.replace_one(before, document);
            let replaced = replace.session(&mut *tx.session().await?).await?;
            if replaced.matched_count == 0 {
                return Ok(Round::Again);
            }
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(decision))
    }

    async fn delete_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        assistant_id: &AssistantId,
        entry_id: &str,
    ) -> Result<Round<bool>, Failure> {
        if self.is_audited(&tx, entry_id).await? {
            return Ok(Round::Done(true));
        }
        let stored = self.assistant(&scope.app_id, assistant_id).await?;
        let Some(stored) = stored else { return Ok(Round::Done(false)) };
        match check_manages(scope, &stored) {
            Err(StoreError::AssistantNotFound(_)) => return Ok(Round::Done(false)),
            checked => checked?,
        }
        check_seen(scope, &stored)?;
        let audited = Audited::in_scope(scope, None, AuditAction::DeleteAssistant);
        let entry = self.audit_document_with_id(&audited, entry_id.to_owned()).await?;
        tx.begin().await?;
        let delete = self.inner.assistants.delete_one(version_filter(&stored, stored.version));
        let deleted = delete.session(&mut *tx.session().await?).await?;
        if deleted.deleted_count == 0 {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        Ok(Round::Done(true))
    }

    /// Deletes the assistants of a page, in the versions in which the filter has admitted them. `sent` is what the last round
    /// has deleted, if it was committed.
    async fn delete_page_round(
        &self,
        tx: Transaction<'_>,
        scope: &Scope,
        filter: &AssistantFilter,
        limit: usize,
        entry_id: &str,
        sent: &Mutex<DeletedAssistants>,
    ) -> Result<Round<DeletedAssistants>, Failure> {
        if self.is_audited(&tx, entry_id).await? {
            return Ok(Round::Done(*locked(sent)));
        }
        let page = self.assistants_page(scope, filter, limit, None).await?;
        let has_more = page.next.is_some();
        if page.assistants.is_empty() {
            return Ok(Round::Done(DeletedAssistants { deleted: 0, has_more }));
        }
        let audited = Audited::in_scope(scope, None, AuditAction::DeleteAssistants);
        let entry = self.audit_document_with_id(&audited, entry_id.to_owned()).await?;
        let versions = page.assistants.iter().map(|it| version_filter(it, it.version));
        let these = doc! { "$or": versions.collect::<Vec<_>>() };
        tx.begin().await?;
        let delete = self.inner.assistants.delete_many(these);
        let deleted = delete.session(&mut *tx.session().await?).await?.deleted_count;
        if deleted == 0 {
            return Ok(Round::Again);
        }
        self.insert_audit_document(&tx, &entry).await?;
        let done = DeletedAssistants { deleted, has_more };
        *locked(sent) = done;
        Ok(Round::Done(done))
    }

    /// Returns whether an earlier attempt of a call was committed, whose mark is its entry of the audit log.
    async fn is_audited(&self, tx: &Transaction<'_>, entry_id: &str) -> Result<bool, Failure> {
        if tx.is_first() {
            return Ok(false);
        }
        let is_audited = self.has_audit_entry(entry_id).await?;
        if !is_audited {
            tx.attempt().note_nothing_applied();
        }
        Ok(is_audited)
    }
}

/// Returns the filter for an assistant in a version.
fn version_filter(assistant: &Assistant, version: u64) -> Document {
    doc! {
        "_id": assistant_key(&assistant.app_id, &assistant.assistant_id),
        "version": counter(version),
        "created_at": bson::DateTime::from_chrono(assistant.created_at),
        "schema_version": { "$lte": NEWEST_VERSION },
    }
}

fn unconditional(scope: &Scope) -> Scope {
    Scope { if_match: None, ..scope.clone() }
}

fn locked(sent: &Mutex<DeletedAssistants>) -> std::sync::MutexGuard<'_, DeletedAssistants> {
    sent.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
