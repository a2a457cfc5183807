use axum::extract::{FromRequest, Request};
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use records::JsonObject;
use records::json::ParseError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::body::read_body;
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A JSON body, of a request or of a response.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// An optional JSON body: if the body is empty, with or without a `Content-Type`, it is the default.
#[derive(Debug)]
pub(crate) struct OptionalJson<T>(pub(crate) T);

/// A JSON merge patch (RFC 7386), as its own media type or as plain JSON.
#[derive(Debug)]
pub(crate) struct MergePatch(pub(crate) JsonObject);

impl<T: DeserializeOwned> FromRequest<AppState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        typed(read_json(request, state).await?).map(Self)
    }
}

impl<T: DeserializeOwned + Default> FromRequest<AppState> for OptionalJson<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        match read_body(request, state, &[JSON]).await? {
            Some(text) if !text.is_empty() => typed(parse(&text)?).map(Self),
            _ => Ok(Self(T::default())),
        }
    }
}

impl FromRequest<AppState> for MergePatch {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let text = read_body(request, state, &[JSON, MERGE_PATCH]).await?;
        typed(parse(&text.unwrap_or_default())?).map(Self)
    }
}

impl<T: Serialize> IntoResponse for Json<T> {
    fn into_response(self) -> Response {
        match serde_json::to_vec(&self.0) {
            Ok(text) => ([(CONTENT_TYPE, JSON)], text).into_response(),
            Err(error) => Problem::new(ProblemKind::INTERNAL, "failed to write the response")
                .caused_by(error)
                .into_response(),
        }
    }
}

/// Reads a body of any JSON value.
pub(super) async fn read_json(request: Request, state: &AppState) -> Result<Value, Problem> {
    let text = read_body(request, state, &[JSON]).await?;
    parse(&text.unwrap_or_default())
}

/// Deserializes a JSON value; on failure the problem points at the field that does not fit.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let pointer = pointer(error.path());
        Problem::invalid_body(pointer, error.into_inner().to_string())
    })
}

/// Parses any JSON value, and refuses what would be lost.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Problem> {
    records::json::parse(text).map_err(|error| match error {
        ParseError::Syntax(error) => Problem::new(ProblemKind::MALFORMED_JSON, error.to_string()),
        ParseError::Lossy(invalid) => invalid.into(),
    })
}

/// Writes a path into a document as a JSON pointer.
fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => format!("/{index}"),
            Segment::Map { key } => format!("/{}", key.replace('~', "~0").replace('/', "~1")),
            Segment::Enum { .. } | Segment::Unknown => String::new(),
        })
        .collect()
}
