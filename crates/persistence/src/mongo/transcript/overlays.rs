//! Messages that several chats share, as one of them has changed them: each change is a version beside
//! the segment, which stays as it is for the others.

use bson::doc;
use records::Scope;

use crate::mongo::MongoStore;
use crate::mongo::documents::{Lineage, StoredMessage, VersionKey, version_document};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::transaction::Transaction;

impl MongoStore {
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
