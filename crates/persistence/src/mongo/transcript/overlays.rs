//! Writes overlays: edits of messages that several chats share. Each edit is a version in a separate document.
//! The segment does not change, so the other chats still see the original message.

use bson::doc;
use records::Scope;

use crate::mongo::MongoStore;
use crate::mongo::documents::{Lineage, StoredMessage, VersionKey, version_document};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;

impl MongoStore {
    /// Inserts a version, in the transaction that increments the revision. Deletes the version `before`, which
    /// it replaces, if this chat wrote that version and no fork can see it.
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
        let owner = lineage.owner(message.message.sequence);
        let document = version_document(&scope.app_id, chat_id, revision, message, owner);
        versions.insert_one(document).session(&mut *tx.session().await?).await?;
        Ok(())
    }
}
