//! Messages that several chats share, as one of them has changed them: each change is a version beside
//! the segment, which stays as it is for the others.

use std::collections::BTreeMap;
use std::ops::Range;

use bson::{Document, doc};
use futures::TryStreamExt;
use records::{ChatId, Scope};

use crate::mongo::MongoStore;
use crate::mongo::documents::{
    Base, Lineage, StoredMessage, VersionKey, version_document, version_message, versions_by,
};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;

/// The versions that are in force in a chat, by sequence.
pub(crate) type Versions = BTreeMap<u64, VersionKey>;

/// Gathers the versions that are in force.
struct InForce<'a> {
    editors: &'a [Base],
    found: Versions,
}

impl<'a> InForce<'a> {
    fn among(editors: &'a [Base]) -> Self {
        Self { editors, found: Versions::new() }
    }

    fn take(&mut self, key: VersionKey) {
        let rank = |key: &VersionKey| {
            let editor = self.editors.iter().position(|editor| editor.chat_id == key.chat_id);
            (editor, key.revision)
        };
        if self.found.get(&key.sequence).is_none_or(|other| rank(other) < rank(&key)) {
            self.found.insert(key.sequence, key);
        }
    }
}

/// Returns a filter for certain versions.
fn these(scope: &Scope, keys: &[VersionKey]) -> Document {
    let ids: Vec<Document> = keys.iter().map(VersionKey::id).collect();
    doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() }
}

impl MongoStore {
    /// Finds the versions that are in force in a chat, of sealed messages that it shares.
    ///
    /// To be called after the segments were read: what they no longer say is among these.
    pub(crate) async fn versions(
        &self,
        scope: &Scope,
        lineage: &Lineage,
        span: &Range<u64>,
    ) -> Result<Versions, Failure> {
        let editors = lineage.editors(span);
        let mut versions = InForce::among(&editors);
        if editors.is_empty() {
            return Ok(versions.found);
        }
        let filter = versions_by(scope, &editors, span.start);
        let find = self.inner.message_versions.find(filter);
        let mut found = find.projection(VersionKey::projection()).await?;
        while let Some(raw) = found.try_next().await? {
            versions.take(VersionKey::read(lineage.chat_id(), &raw)?);
        }
        Ok(versions.found)
    }

    /// Reads versions; `None` where one has just been replaced.
    pub(crate) async fn version_messages(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        keys: &[VersionKey],
    ) -> Result<Option<Vec<StoredMessage>>, Failure> {
        if keys.is_empty() {
            return Ok(Some(Vec::new()));
        }
        let mut found = self.inner.message_versions.find(these(scope, keys)).await?;
        let mut messages = Vec::new();
        while let Some(raw) = found.try_next().await? {
            messages.push(version_message(chat_id, &raw)?);
        }
        Ok((messages.len() == keys.len()).then_some(messages))
    }

    /// Writes a version within the transaction that moves the revision; it takes the place of the one
    /// before it, unless a fork may see that.
    pub(crate) async fn write_version(
        &self,
        tx: &Transaction<'_>,
        scope: &Scope,
        lineage: &Lineage,
        message: &StoredMessage,
        before: Option<&VersionKey>,
    ) -> Result<(), Failure> {
        let versions = &self.inner.message_versions;
        let chat_id = lineage.chat_id();
        if let Some(before) = before
            && before.chat_id == *chat_id
            && lineage.is_unshared(before.revision)
        {
            let one = doc! { "_id": before.id(), "app_id": scope.app_id.as_str() };
            versions.delete_one(one).session(&mut *tx.session().await?).await?;
        }
        let revision = lineage.next_revision();
        let document = version_document(&scope.app_id, chat_id, revision, message);
        versions.insert_one(document).session(&mut *tx.session().await?).await?;
        Ok(())
    }
}
