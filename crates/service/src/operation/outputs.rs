use std::marker::PhantomData;

use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use utoipa::ToSchema;

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

/// A response that is written already, whose body is the JSON of a `T`.
#[derive(Debug)]
pub(crate) struct Prepared<T> {
    response: Response,
    body: PhantomData<fn() -> T>,
}

impl<T> Prepared<T> {
    pub(crate) fn new(response: impl IntoResponse) -> Self {
        Self { response: response.into_response(), body: PhantomData }
    }
}

impl<T> IntoResponse for Prepared<T> {
    fn into_response(self) -> Response {
        self.response
    }
}

impl<T: ToSchema> Output for Prepared<T> {
    fn describe(description: &mut Description) {
        description.answers_json::<T>(StatusCode::OK);
    }
}
