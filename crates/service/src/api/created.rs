use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use persistence::{Outcome, Written};
use serde::Serialize;
use utoipa::ToSchema;
use utoipa::openapi::{AllOfBuilder, ObjectBuilder, Type};

use crate::extract::Json;
use crate::operation::{Description, Output};

/// What a `POST` has created, with 201; or what an earlier one has created under the same id, with 200.
#[derive(Debug, Serialize)]
pub(crate) struct Created<T> {
    #[serde(flatten)]
    record: T,
    duplicate: bool,
    #[serde(skip)]
    status: StatusCode,
}

impl<T> Created<T> {
    pub(crate) fn new(record: impl Into<T>, outcome: Outcome) -> Self {
        let duplicate = outcome == Outcome::Duplicate;
        let status = if duplicate { StatusCode::OK } else { StatusCode::CREATED };
        Self { record: record.into(), duplicate, status }
    }

    /// A response to a request that had nothing to create.
    pub(crate) fn nothing(record: T) -> Self {
        Self { record, duplicate: false, status: StatusCode::OK }
    }
}

impl<T, R: Into<T>> From<Written<R>> for Created<T> {
    fn from(Written { record, outcome }: Written<R>) -> Self {
        Self::new(record, outcome)
    }
}

impl<T: Serialize> IntoResponse for Created<T> {
    fn into_response(self) -> Response {
        (self.status, Json(self)).into_response()
    }
}

impl<T: ToSchema> Output for Created<T> {
    fn describe(description: &mut Description) {
        let record = description.reference::<T>();
        let duplicate = ObjectBuilder::new()
            .schema_type(Type::Boolean)
            .description(Some("Whether an earlier request with the same id has created it."));
        let marked = ObjectBuilder::new().property("duplicate", duplicate).required("duplicate");
        let schema = AllOfBuilder::new().item(record).item(marked);
        description.answers_created(&format!("Created_{}", T::name()), schema.into());
    }
}
