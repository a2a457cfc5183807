use std::any::Any;

use axum::response::{IntoResponse, Response};

use crate::problem::{Problem, ProblemKind};

/// Answers a request whose handler panicked.
///
/// The panic message may repeat input of the caller, so it is not logged here.
pub(crate) fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    Problem::new(
        ProblemKind::INTERNAL,
        "the service failed; the operator finds the reason in the log under http_request_id",
    )
    .caused_by("the handler panicked")
    .into_response()
}
