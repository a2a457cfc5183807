//! Sweeps: the periodic clean-up of overdue records of all apps.

use bson::{Bson, Document, RawDocumentBuf, doc};
use mongodb::Collection;
use mongodb::options::Hint;

use crate::StoreError;
use crate::metrics::{Label as _, Sweep};
use crate::mongo::MongoStore;
use crate::mongo::engine::failure::Failure;
use crate::mongo::engine::hinted::SortedFind;

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
    /// Leaves a document out that is not understood, so that it does not block the others: it is counted and logged.
    pub(crate) fn skip_corrupt<T>(
        &self,
        sweep: Sweep,
        read: Result<T, impl Into<Failure>>,
    ) -> Result<Option<T>, Failure> {
        match read.map_err(Into::into) {
            Err(Failure::Decided(error)) if error.is_not_understood() => {
                self.skipped(sweep, None, &error);
                Ok(None)
            }
            read => read.map(Some),
        }
    }

    fn skipped(&self, sweep: Sweep, id: Option<&Bson>, error: &StoreError) {
        self.inner.metrics.sweeps.failed(sweep);
        let (sweep, id) = (sweep.name(), id.map(tracing::field::display));
        tracing::warn!(sweep, id, %error, "a sweep skipped a document");
    }

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
                    Err(error) => self.skipped(overdue.sweep, id.as_ref(), &error),
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
        let mut filter = self.filter.clone();
        filter.insert("_id", doc! { "$nin": seen });
        let since = self.index.keys().last();
        let page = SortedFind {
            filter,
            sort: since.map(|since| (since.clone(), Bson::Int32(1))).into_iter().collect(),
            index: Hint::Keys(self.index.clone()),
            limit: limit.min(PAGE),
            projection: self.projection.clone(),
        };
        page.read(self.collection).await
    }
}
