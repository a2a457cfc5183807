use std::convert::Infallible;
use std::marker::PhantomData;

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use persistence::offload;
use records::json::{self, ListLimit, ParseError, Scanned};
use records::{JsonObject, Location, Segment};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use utoipa::ToSchema;
use utoipa::openapi::Required;

use super::body::{TIMES_BODY, read_body};
use super::idempotency_key::{IdempotencyKey, Keyed};
use super::objects::Objects;
use crate::admission::RequestMemory;
use crate::openapi::values;
use crate::operation::{Description, Input, Output};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

pub(super) const JSON: &str = "application/json";
const MERGE_PATCH: &str = "application/merge-patch+json";

/// A JSON body, of a request or of a response.
#[derive(Debug)]
pub(crate) struct Json<T>(pub(crate) T);

/// A JSON body with lists whose number of items is limited while it is parsed.
#[derive(Debug)]
pub(crate) struct ListJson<T>(pub(crate) T);

/// A body whose lists have a limited number of items.
pub(crate) trait LimitedLists {
    /// The limits of its lists.
    const LISTS: &'static [ListLimit];
}

/// An optional JSON body: if the body is empty, with or without a `Content-Type`, it is the default.
#[derive(Debug)]
pub(crate) struct OptionalJson<T>(pub(crate) T);

/// A JSON body of the shape `T` that the handler reads, because only the query says how.
#[derive(Debug)]
pub(crate) struct UnreadJson<T>(pub(crate) Request, pub(crate) PhantomData<fn() -> T>);

/// A JSON merge patch (RFC 7386), as its own media type or as plain JSON.
#[derive(Debug)]
pub(crate) struct MergePatch(pub(crate) JsonObject);

impl<T: DeserializeOwned + Keyed + Send + 'static> FromRequest<AppState> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let key = IdempotencyKey::of(&request)?;
        let body = read_json(request, state, &[JSON], &[]).await?.parse().await?;
        keyed(body, key).map(Self)
    }
}

impl<T> FromRequest<AppState> for ListJson<T>
where
    T: DeserializeOwned + Keyed + LimitedLists + Send + 'static,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let key = IdempotencyKey::of(&request)?;
        let body = read_json(request, state, &[JSON], T::LISTS).await?.parse().await?;
        keyed(body, key).map(Self)
    }
}

impl<T> FromRequest<AppState> for OptionalJson<T>
where
    T: DeserializeOwned + Default + Keyed + Send + 'static,
{
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        let key = IdempotencyKey::of(&request)?;
        let memory = RequestMemory::of(request.extensions())?;
        let body = match read_body(request, state, &[JSON]).await? {
            Some(text) if !text.is_empty() => {
                JsonText::scan(text, &[], &memory).await?.parse().await?
            }
            _ => T::default(),
        };
        keyed(body, key).map(Self)
    }
}

impl<T> FromRequest<AppState> for UnreadJson<T> {
    type Rejection = Infallible;

    async fn from_request(request: Request, _state: &AppState) -> Result<Self, Infallible> {
        Ok(Self(request, PhantomData))
    }
}

impl<T: ToSchema> Input for Json<T> {
    fn describe(description: &mut Description) {
        description.json_body::<T>();
    }
}

impl<T: ToSchema> Input for ListJson<T> {
    fn describe(description: &mut Description) {
        description.json_body::<T>();
    }
}

impl<T: ToSchema> Input for UnreadJson<T> {
    fn describe(description: &mut Description) {
        description.json_body::<T>();
    }
}

impl<T: ToSchema> Input for OptionalJson<T> {
    fn describe(description: &mut Description) {
        description.body::<T>(&[JSON], Required::False);
    }
}

impl Input for MergePatch {
    fn describe(description: &mut Description) {
        description.body::<values::Variables>(&[JSON, MERGE_PATCH], Required::True);
    }
}

/// Gives a body the ids that the header `Idempotency-Key` names, if the request has one.
fn keyed<T: Keyed>(mut body: T, key: Option<IdempotencyKey>) -> Result<T, Problem> {
    key.map_or(Ok(()), |key| body.set_key(&key))?;
    Ok(body)
}

impl FromRequest<AppState> for MergePatch {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &AppState) -> Result<Self, Problem> {
        read_json(request, state, &[JSON, MERGE_PATCH], &[]).await?.parse().await.map(Self)
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

impl<T: ToSchema> Output for Json<T> {
    fn describe(description: &mut Description) {
        description.answers_json::<T>(StatusCode::OK);
    }
}

/// With 201 if the request has stored anything, with 200 if an earlier one has.
impl<T: ToSchema> Output for (StatusCode, Json<T>) {
    fn describe(description: &mut Description) {
        description.answers_written::<T>();
    }
}

/// The text of a body whose values are known to fit into memory.
pub(super) struct JsonText {
    text: Bytes,
    pub(super) scanned: Scanned,
}

/// Reads a JSON body, and scans it.
pub(super) async fn read_json(
    request: Request,
    state: &AppState,
    accepted: &[&str],
    lists: &'static [ListLimit],
) -> Result<JsonText, Problem> {
    let memory = RequestMemory::of(request.extensions())?;
    let text = read_body(request, state, accepted).await?.unwrap_or_default();
    JsonText::scan(text, lists, &memory).await
}

impl JsonText {
    /// Scans a text, and reserves what its values take beyond the usual multiple of its size.
    async fn scan(
        text: Bytes,
        lists: &'static [ListLimit],
        memory: &RequestMemory,
    ) -> Result<Self, Problem> {
        let scanning = text.clone();
        let scanned = offload(text.len(), move || json::scan(&scanning, lists)).await;
        let scanned = scanned.map_err(refused)?;
        let reserved = (TIMES_BODY - 1) * text.len();
        memory.reserve(scanned.parsed_bytes.saturating_sub(reserved)).await?;
        Ok(Self { text, scanned })
    }

    /// Parses the text into a type; on failure the problem points at the field that does not fit.
    pub(super) async fn parse<T: DeserializeOwned + Send + 'static>(self) -> Result<T, Problem> {
        let Self { text, .. } = self;
        offload(text.len(), move || parse_as(&text)).await
    }
}

fn parse_as<T: DeserializeOwned>(text: &[u8]) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let parsed = serde_path_to_error::deserialize(Objects(&mut json)).map_err(|error| {
        let location = location(error.path());
        unfit(text, location, &error.into_inner())
    })?;
    json.end().map_err(malformed)?;
    Ok(parsed)
}

/// Creates the problem of a text that is not JSON, or else of a value that does not fit its field.
fn unfit(text: &[u8], location: Location, error: &serde_json::Error) -> Problem {
    if let Err(error) = serde_json::from_slice::<Value>(text) {
        return malformed(error);
    }
    let detail = error.to_string();
    // The location says where; the line and column after it would only repeat that.
    let detail = detail.rsplit_once(" at line ").map_or(&*detail, |(detail, _)| detail);
    Problem::invalid_body(location, detail)
}

#[expect(clippy::needless_pass_by_value, reason = "a function for `map_err`")]
pub(super) fn malformed(error: serde_json::Error) -> Problem {
    Problem::new(ProblemKind::MALFORMED_JSON, error.to_string())
}

/// Deserializes a JSON value; on failure the problem points at the field that does not fit.
pub(crate) fn typed<T: DeserializeOwned>(value: Value) -> Result<T, Problem> {
    serde_path_to_error::deserialize(Objects(value)).map_err(|error| {
        let location = location(error.path());
        Problem::invalid_body(location, error.into_inner().to_string())
    })
}

/// Parses any JSON value, and refuses what would be lost.
pub(crate) fn parse(text: &[u8]) -> Result<Value, Problem> {
    json::parse(text).map_err(refused)
}

fn refused(error: ParseError) -> Problem {
    match error {
        ParseError::Syntax(error) => malformed(error),
        ParseError::Refused(invalid) => invalid.into(),
        ParseError::TooManyValues { .. } => {
            Problem::new(ProblemKind::BODY_TOO_LARGE, format!("the body {error}"))
        }
    }
}

/// Returns the location to which a path leads.
fn location(path: &serde_path_to_error::Path) -> Location {
    use serde_path_to_error::Segment as Step;
    path.iter()
        .filter_map(|step| match step {
            Step::Seq { index } => Some(Segment::Index(*index)),
            Step::Map { key } => Some(Segment::key(key.clone())),
            Step::Enum { .. } | Step::Unknown => None,
        })
        .collect()
}
