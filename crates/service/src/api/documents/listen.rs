use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use operation::operation;
use records::DocumentPath;
use utoipa::IntoParams;
use utoipa::openapi::path::Parameter;

use crate::config::LimitsConfig;
use crate::extract::{DocumentsStream, FromParams, LastEventId, Params, Query, declared};
use crate::live::{DocumentEventResponse, DocumentPosition, Hub, document_event_stream};
use crate::metrics::{Metrics, Transport};
use crate::openapi::values;
use crate::operation::{Description, Output, Prepared};
use crate::problem::Problem;

/// The documents to hear of.
#[derive(Debug, IntoParams)]
pub(crate) struct ListenToDocumentsQuery {
    /// Only documents whose path begins with these names.
    #[param(value_type = Option<values::DocumentPath>)]
    namespace: Option<DocumentPath>,
    /// The id of the last event that the client has. The header `Last-Event-ID` means the same, and has precedence.
    #[param(value_type = Option<String>, example = "9f552f6c1d0e8a41.7")]
    after: Option<DocumentPosition>,
}

impl FromParams for ListenToDocumentsQuery {
    fn from_params(params: &mut Params, _limits: &LimitsConfig) -> Result<Self, Problem> {
        Ok(Self { namespace: params.take("namespace")?, after: params.take("after")? })
    }

    fn described() -> Vec<Parameter> {
        declared::<Self>()
    }
}

/// Streams the changes of the documents that `GET /api/documents/{app_id}` lists with the same namespace.
///
/// - `resync`: the client lists the documents; every later change follows. It is the first event, unless the changes since
///   `Last-Event-ID` are still known, and comes again whenever changes may be missing.
/// - `changed`: a document was created, replaced or appended to.
/// - `deleted`: a document was deleted. A caller without the role `service` gets `resync` instead, at most once a second.
#[operation(
    answers = "Server-sent events; the `data` of each is this as JSON",
    problems = [TOO_MANY_SUBSCRIBERS],
)]
pub(crate) async fn listen_to_documents(
    State(hub): State<Arc<Hub>>,
    State(limits): State<Arc<LimitsConfig>>,
    State(metrics): State<Arc<Metrics>>,
    DocumentsStream { scope, limits: stream_limits }: DocumentsStream,
    Query(query): Query<ListenToDocumentsQuery>,
    LastEventId(last_event_id): LastEventId<DocumentPosition>,
) -> Result<Prepared<DocumentEventStream>, Problem> {
    let ListenToDocumentsQuery { namespace, after } = query;
    let subscription = hub.subscribe_to_documents(&scope, namespace, last_event_id.or(after))?;
    let metrics = metrics.live.subscriber(Transport::Sse);
    let keep_alive = limits.keep_alive();
    Ok(Prepared::new(document_event_stream(subscription, stream_limits, keep_alive, metrics)))
}

/// Server-sent events.
pub(crate) enum DocumentEventStream {}

impl Output for DocumentEventStream {
    fn describe(description: &mut Description) {
        description.answers_content::<DocumentEventResponse>(StatusCode::OK, "text/event-stream");
    }
}
