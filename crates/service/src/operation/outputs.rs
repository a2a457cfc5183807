use std::marker::PhantomData;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use super::{Description, Output};

/// A response without a body.
#[derive(Debug)]
pub(crate) struct NoContent;

impl IntoResponse for NoContent {
    fn into_response(self) -> Response {
        StatusCode::NO_CONTENT.into_response()
    }
}

impl Output for NoContent {
    fn describe(description: &mut Description) {
        description.answers(StatusCode::NO_CONTENT);
    }
}

/// A response that is written already, as the output `T` describes it.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    response: Response,
    described: PhantomData<fn() -> T>,
}

impl<T> Prepared<T> {
    pub(crate) fn new(response: impl IntoResponse) -> Self {
        Self { response: response.into_response(), described: PhantomData }
    }
}

impl<T> IntoResponse for Prepared<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

impl<T: Output> Output for Prepared<T> {
    fn describe(description: &mut Description) {
        T::describe(description);
    }
}
