use futures::FutureExt as _;
use records::ChatId;
use tracing::{Instrument as _, Span};

use crate::StoreError;
use crate::metrics::{Call, Label as _, RunningCall};
use crate::mongo::MongoStore;
use crate::traces;

impl MongoStore {
    /// Runs a call: counts its outcome, times it and logs it. A slow call is logged as a warning,
    /// any other call at debug level. The caller logs errors.
    ///
    /// Each trait method of the store is observed once, as a whole, so that the outcome is that of
    /// the caller. A call that is dropped before it ends counts as cancelled.
    pub(crate) fn observe<T>(
        &self,
        call: Call,
        chat_id: Option<&ChatId>,
        work: impl Future<Output = Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> {
        // A combinator, because the future of an async function would contain `work` twice.
        let underway = self.inner.metrics.calls.begin(call);
        let span = traces::store_call(call.name(), chat_id);
        work.instrument(span.clone()).map(move |answer| {
            self.observed(underway, chat_id, &span, answer.as_ref().err());
            answer
        })
    }

    /// Ends an observed call with its error, if it has failed. It is compiled once, and not for each call.
    fn observed(
        &self,
        underway: RunningCall<'_>,
        chat_id: Option<&ChatId>,
        span: &Span,
        error: Option<&StoreError>,
    ) {
        if error.is_some() {
            traces::failed(span);
        }
        let call = underway.call.name();
        let elapsed = underway.end(error);
        let chat_id = chat_id.map(tracing::field::display);
        let (elapsed_ms, is_ok) = (elapsed.as_secs_f64() * 1_000.0, error.is_none());
        if elapsed >= self.inner.slow_call {
            tracing::warn!(call, chat_id, elapsed_ms, is_ok, "a slow call to the store");
        } else {
            tracing::debug!(call, chat_id, elapsed_ms, is_ok, "a call to the store");
        }
    }
}
