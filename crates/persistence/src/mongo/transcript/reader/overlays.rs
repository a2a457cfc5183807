use std::collections::BTreeMap;
use std::ops::Range;

use bson::{Document, RawDocumentBuf, doc};
use records::Scope;

use crate::mongo::MongoStore;
use crate::mongo::documents::{Base, VersionKey, versions_filter};
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::read_at::ReadAt;
use crate::mongo::transcript::reader::cursor::SealedCursor;
use crate::mongo::transcript::reader::message::{Direction, Overlay};

/// The overlays of a span of sealed messages, by sequence.
#[derive(Debug)]
pub(crate) struct Overlays {
    pub(crate) found: BTreeMap<u64, Overlay>,
    /// The messages before the first one, in reading order, whose overlay is missing: it did not fit, or was
    /// just replaced.
    pub(crate) span: Range<u64>,
}

impl MongoStore {
    /// Fetches the overlays of a span of messages: at most this many bytes, but at least one overlay.
    pub(crate) async fn fetch_overlays(
        &self,
        at: &mut ReadAt<'_>,
        scope: &Scope,
        cursor: &SealedCursor,
        span: &Range<u64>,
        bytes: u64,
    ) -> Result<Overlays, Failure> {
        let (lineage, mut span) = (&cursor.lineage, span.clone());
        let editors = lineage.editors(&span);
        if span.is_empty() || editors.is_empty() {
            return Ok(Overlays { found: BTreeMap::new(), span });
        }
        let find =
            self.inner.message_versions.find(versions_filter(&scope.app_id, &editors, span.start));
        let found = at.all(find.projection(VersionKey::projection())).await?;
        let keys = found.iter().map(|raw| VersionKey::read(lineage.chat_id(), raw));
        let mut keys = visible_versions(&editors, keys.collect::<Result<_, _>>()?);
        if cursor.direction == Direction::NewestFirst {
            keys.reverse();
        }
        let mut found = BTreeMap::new();
        for raw in self.fetch_versions(at, scope, within_bytes(&keys, bytes)).await? {
            let key = VersionKey::read(lineage.chat_id(), &raw)?;
            found.insert(key.sequence, Overlay { key, raw });
        }
        if let Some(missing) = keys.iter().find(|key| !found.contains_key(&key.sequence)) {
            match cursor.direction {
                Direction::OldestFirst => span.end = missing.sequence,
                Direction::NewestFirst => span.start = missing.sequence + 1,
            }
        }
        Ok(Overlays { found, span })
    }

    async fn fetch_versions(
        &self,
        at: &mut ReadAt<'_>,
        scope: &Scope,
        keys: &[VersionKey],
    ) -> Result<Vec<RawDocumentBuf>, Failure> {
        if keys.is_empty() {
            return Ok(Vec::new());
        }
        let ids: Vec<Document> = keys.iter().map(VersionKey::id).collect();
        let these = doc! { "_id": { "$in": ids }, "app_id": scope.app_id.as_str() };
        at.all(self.inner.message_versions.find(these)).await
    }
}

/// Selects the version of each message that the chat shows, in the order of the messages: of the last chat in
/// the lineage with a version of the message, the newest one.
pub(crate) fn visible_versions(editors: &[Base], versions: Vec<VersionKey>) -> Vec<VersionKey> {
    let rank = |key: &VersionKey| {
        let editor = editors.iter().position(|editor| editor.chat_id == key.chat_id);
        (editor, key.revision)
    };
    let mut visible_versions = BTreeMap::<u64, VersionKey>::new();
    for key in versions {
        if visible_versions.get(&key.sequence).is_none_or(|other| rank(other) < rank(&key)) {
            visible_versions.insert(key.sequence, key);
        }
    }
    visible_versions.into_values().collect()
}

/// Returns the first versions with a total size of at most this many bytes, but at least one version.
fn within_bytes(keys: &[VersionKey], bytes: u64) -> &[VersionKey] {
    let mut total = 0_u64;
    let is_too_large = |key: &VersionKey| {
        total = total.saturating_add(key.bytes);
        total > bytes
    };
    let fitting = keys.iter().position(is_too_large).unwrap_or(keys.len());
    &keys[..fitting.max(1).min(keys.len())]
}
