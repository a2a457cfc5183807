use std::any::Any;

use axum::response::{IntoResponse, Response};

use crate::problem::{Problem, ProblemKind};

/// Answers a request whose handler panicked.
///
/// What the panic said may repeat what the caller sent: it is not logged here.
pub(crate) fn panicked(_panic: Box<dyn Any + Send>) -> Response {
    Problem::new(ProblemKind::INTERNAL, "the request could not be handled")
        .caused_by("the handler panicked")
        .into_response()
}
