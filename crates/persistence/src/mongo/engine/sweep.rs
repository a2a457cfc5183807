//! Sweeps: the periodic clean-up of overdue records of all apps.

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt;
use mongodb::Collection;
use mongodb::action::{Action as _, Find};
use mongodb::options::Hint;

use crate::StoreError;
use crate::metrics::{Label as _, Sweep};
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::hinted;

/// How many documents are read at a time.
const PAGE: usize = 100;

/// The overdue documents of a collection.
pub(crate) struct Overdue<'a> {
    pub(crate) sweep: Sweep,
    pub(crate) collection: &'a Collection<RawDocumentBuf>,
    pub(crate) filter: Document,
    /// The keys of an index of them. The last is the field with the time since which a document is overdue.
    pub(crate) index: Document,
    pub(crate) projection: Document,
}

impl MongoStore {
    /// Handles up to `limit` overdue documents, the oldest first, and returns how many it handled.
    ///
    /// A document that cannot be handled is counted, logged and skipped, so that it does not block
    /// the documents after it. Only an unavailable store ends a sweep early.
    pub(crate) async fn sweep<F>(
        &self,
        overdue: &Overdue<'_>,
        limit: usize,
        mut handle: impl FnMut(RawDocumentBuf) -> F,
    ) -> Result<usize, StoreError>
    where
        F: Future<Output = Result<bool, StoreError>>,
    {
        let mut handled = 0;
        let mut seen: Vec<Bson> = Vec::new();
        while handled < limit {
            let page = self.read(|| overdue.page(&seen, limit - handled)).await?;
            if page.is_empty() {
                break;
            }
            for raw in page {
                let id = raw.get("_id").ok().flatten().and_then(|id| Bson::try_from(id).ok());
                let outcome = handle(raw).await;
                match outcome {
                    Ok(is_handled) => handled += usize::from(is_handled),
                    Err(error) if error.is_unavailable() && handled == 0 => return Err(error),
                    Err(error) if error.is_unavailable() => return Ok(handled),
                    Err(error) => {
                        self.inner.metrics.sweeps.failed(overdue.sweep);
                        let (sweep, id) = (overdue.sweep.name(), id.as_ref());
                        let id = id.map(tracing::field::display);
                        tracing::warn!(sweep, id, %error, "a sweep skipped an overdue document");
                    }
                }
                seen.extend(id);
            }
        }
        Ok(handled)
    }
}

impl Overdue<'_> {
    /// Reads the documents that are overdue the longest, except for those that this sweep has seen.
    async fn page(&self, seen: &[Bson], limit: usize) -> Result<Vec<RawDocumentBuf>, Failure> {
        let Self { collection, filter, index, projection, .. } = self;
        let mut filter = filter.clone();
        filter.insert("_id", doc! { "$nin": seen });
        let sort: Document =
            index.iter().last().map(|(key, _)| (key.clone(), Bson::Int32(1))).into_iter().collect();
        let limit = i64::try_from(limit.min(PAGE)).unwrap_or(i64::MAX);
        hinted(Hint::Keys(index.clone()), |hint| async {
            let find = collection.find(filter.clone()).sort(sort.clone()).limit(limit);
            let find = find.optional(hint, Find::hint);
            Ok(find.projection(projection.clone()).await?.try_collect().await?)
        })
        .await
    }
}
