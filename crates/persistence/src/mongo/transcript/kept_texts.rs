//! Notes which texts of deleted messages are still stored, for deletions by releases that did not (decision 0054).

use bson::{Bson, DateTime, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use records::{AppId, ChatId, Lifecycle};

use crate::StoreError;
use crate::mongo::MongoStore;
use crate::mongo::collection_names::MESSAGE_VERSIONS;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{
    LIFECYCLE, Lineage, NEWEST_VERSION, TEXT_CHECK_AT, TEXT_KEPT_IN, VersionKey, open_chat_session,
};
use crate::mongo::engine::failure::Failure;

/// How many versions are read at a time.
const PAGE: i64 = 200;

/// A version that deletes a message, without a note.
struct Deletion {
    app_id: AppId,
    key: VersionKey,
}

impl MongoStore {
    /// Adds the note to every version that deletes a message and has none, so that the sweep looks at it. The sweep removes
    /// it again where the text is gone already.
    pub(crate) async fn note_kept_texts(&self) -> Result<(), StoreError> {
        let mut after = Bson::MinKey;
        loop {
            let page = self.read(|| self.deletions_without_note(&after)).await?;
            let Some(last) = page.last() else { return Ok(()) };
            after = last.key.id().into();
            for deletion in &page {
                self.write_until(self.deadline(), |_| self.note_kept_text(deletion)).await?;
            }
        }
    }

    async fn deletions_without_note(&self, after: &Bson) -> Result<Vec<Deletion>, Failure> {
        let filter = doc! {
            "_id": { "$gt": after },
            "message.deleted_at": { "$type": "date" },
            TEXT_KEPT_IN: Bson::Null,
            "schema_version": { "$lte": NEWEST_VERSION },
        };
        let mut fields = VersionKey::projection();
        fields.insert("app_id", 1);
        let find = self.inner.message_versions.find(filter).sort(doc! { "_id": 1 }).limit(PAGE);
        let found: Vec<RawDocumentBuf> = find.projection(fields).await?.try_collect().await?;
        let read = |raw: &RawDocumentBuf| {
            let fields = Fields::open(MESSAGE_VERSIONS, "(deleted)", raw)?;
            let chat_id: ChatId = fields.inside(fields.document("_id")?).parsed("chat_id")?;
            Ok(Deletion { app_id: fields.parsed("app_id")?, key: VersionKey::read(&chat_id, raw)? })
        };
        Ok(found.iter().map(read).collect::<Result<_, StoreError>>()?)
    }

    async fn note_kept_text(&self, deletion: &Deletion) -> Result<(), Failure> {
        let Deletion { app_id, key } = deletion;
        // What is left of a purged chat has no lineage; the next purge or erasure removes its versions.
        let open = doc! {
            "_id": key.chat_id.as_str(),
            LIFECYCLE: { "$ne": Lifecycle::Purged.number() },
        };
        let find = self.inner.chat_sessions.find_one(open).projection(Lineage::projection());
        let Some(raw) = find.await? else { return Ok(()) };
        let lineage = Lineage::read(&key.chat_id, &open_chat_session(&raw)?)?;
        let without: Document =
            doc! { "_id": key.id(), "app_id": app_id.as_str(), TEXT_KEPT_IN: Bson::Null };
        let note = doc! { "$set": {
            TEXT_KEPT_IN: lineage.owner(key.sequence).as_str(),
            TEXT_CHECK_AT: DateTime::from_chrono(self.inner.clock.now()),
        } };
        self.inner.message_versions.update_one(without, note).await?;
        Ok(())
    }
}
