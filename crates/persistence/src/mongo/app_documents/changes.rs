//! The notifications of changed documents: a change stream of their collection alone.
//!
//! It is apart from that of the chats, because only processes with subscribers of documents open it.

use bson::{Document, RawDocument, RawDocumentBuf, doc};
use futures::stream::{self, BoxStream, StreamExt as _};
use mongodb::change_stream::ChangeStream;
use mongodb::options::ChangeStreamOptions;
use records::{AppId, DocumentPath};

use crate::mongo::MongoStore;
use crate::mongo::collection_names::DOCUMENTS;
use crate::mongo::engine::change_stream::{COLLECTION_ENDINGS, Pauses};
use crate::store::DocumentChange;

/// Follows the change stream, and opens it again whenever it ends.
struct DocumentWatcher {
    store: MongoStore,
    stream: Option<ChangeStream<RawDocumentBuf>>,
    pauses: Pauses,
}

impl MongoStore {
    /// Streams the changes of documents by any process.
    pub(super) fn watch_documents(&self) -> BoxStream<'static, DocumentChange> {
        let watcher =
            DocumentWatcher { store: self.clone(), stream: None, pauses: Pauses::default() };
        stream::unfold(watcher, async |mut watcher| Some((watcher.next().await, watcher))).boxed()
    }
}

impl DocumentWatcher {
    async fn next(&mut self) -> DocumentChange {
        let streams = &self.store.inner.change_streams;
        loop {
            let Some(stream) = &mut self.stream else {
                match streams.open(pipeline(), ChangeStreamOptions::default()).await {
                    Ok(stream) => {
                        (self.stream, self.pauses) = (Some(stream), Pauses::default());
                        return DocumentChange::Began;
                    }
                    Err(error) => self.pauses.wait_after(&error, streams).await,
                }
                continue;
            };
            match stream.next().await {
                Some(Ok(event)) => {
                    let Some(change) = change(&event) else { continue };
                    if change == DocumentChange::Lost {
                        self.stream = None;
                    }
                    return change;
                }
                ended => {
                    let error = ended.and_then(Result::err);
                    let error = error.as_ref().map(tracing::field::display);
                    tracing::warn!(
                        error,
                        "the change stream of documents has ended; it is opened again"
                    );
                    self.stream = None;
                    return DocumentChange::Lost;
                }
            }
        }
    }
}

/// Returns the pipeline that selects the changes of documents, reduced to their paths and versions.
fn pipeline() -> [Document; 2] {
    let told = vec![
        doc! { "ns.coll": DOCUMENTS },
        doc! { "operationType": { "$in": ["dropDatabase", "invalidate"] } },
    ];
    let fields = doc! {
        "operationType": 1,
        "documentKey._id": 1,
        "fullDocument.version": 1,
        "updateDescription.updatedFields.version": 1,
    };
    [doc! { "$match": { "$or": told } }, doc! { "$project": fields }]
}

/// Converts a notification of the server; returns `None` if it is not a change of a document.
fn change(event: &RawDocument) -> Option<DocumentChange> {
    let operation = event.get_str("operationType").ok()?;
    if COLLECTION_ENDINGS.contains(&operation) {
        return Some(DocumentChange::Lost);
    }
    let id = event.get_document("documentKey").ok()?.get_document("_id").ok()?;
    let app_id = AppId::parse(id.get_str("app_id").ok()?).ok()?;
    let path = DocumentPath::parse(id.get_str("path").ok()?).ok()?;
    if operation == "delete" {
        return Some(DocumentChange::Deleted { app_id, path });
    }
    let fields = match operation {
        "update" => {
            event.get_document("updateDescription").ok()?.get_document("updatedFields").ok()?
        }
        _ => event.get_document("fullDocument").ok()?,
    };
    let version = u64::try_from(fields.get_i64("version").ok()?).ok()?;
    Some(DocumentChange::Written { app_id, path, version })
}
