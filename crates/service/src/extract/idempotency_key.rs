use std::fmt::Display;
use std::str::FromStr;

use axum::extract::Request;
use axum::http::{HeaderName, Method};
use records::{JsonObject, Location, Segment};

use super::only_header;
use crate::problem::Problem;
use crate::wire::EmptyRequest;

/// The header that makes a request safe to repeat, as an id in its body does.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// A body that may get its ids from the header `Idempotency-Key`.
pub(crate) trait Keyed {
    /// Sets the ids of what the body creates.
    ///
    /// By default nothing: a request that sets a value, or creates what can exist only once, is safe to repeat
    /// without an id.
    fn set_key(&mut self, _key: &IdempotencyKey) -> Result<(), Problem> {
        Ok(())
    }
}

impl Keyed for JsonObject {}
impl Keyed for EmptyRequest {}

/// The key of a request, or of one of the records that it creates.
#[derive(Debug, Clone)]
pub(crate) struct IdempotencyKey {
    text: String,
    /// The place of the record in the body.
    location: Location,
}

impl IdempotencyKey {
    /// Returns the key of a `POST`; a JSON body of another method has no id that it could be.
    pub(super) fn of(request: &Request) -> Result<Option<Self>, Problem> {
        if request.method() == Method::POST { Self::given(request) } else { Ok(None) }
    }

    /// Returns the key of a request of any method.
    ///
    /// The quotation marks of a structured header field (RFC 9651) are not part of the key.
    pub(super) fn given(request: &Request) -> Result<Option<Self>, Problem> {
        let refuse = |detail| Err(Problem::invalid_parameter("Idempotency-Key", detail));
        let value = only_header(request.headers(), IDEMPOTENCY_KEY, "Idempotency-Key")?;
        let Some(value) = value else { return Ok(None) };
        let Ok(text) = value.to_str() else {
            return refuse("must consist of visible ASCII characters");
        };
        let quoted = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
        let text = quoted.unwrap_or(text).to_owned();
        if text.is_empty() {
            refuse("is empty")
        } else {
            Ok(Some(Self { text, location: Location::default() }))
        }
    }

    /// Returns the key of the `index`-th record of a list, from 0: the key of the request, a slash and the index.
    pub(crate) fn nth(&self, list: &'static str, index: usize) -> Self {
        let location = Location::from_iter([Segment::key(list), Segment::Index(index)]);
        Self { text: format!("{}/{index}", self.text), location }
    }

    /// Returns the same key for a part of the body.
    pub(crate) fn within(&self, part: &'static str) -> Self {
        Self { text: self.text.clone(), location: Segment::key(part).into() }
    }

    /// Sets the ids of those objects of a list that have none.
    pub(crate) fn fill_missing<'a>(
        &self,
        list: &'static str,
        field: &str,
        objects: impl IntoIterator<Item = Option<&'a mut JsonObject>>,
    ) {
        for (index, object) in objects.into_iter().enumerate() {
            let Some(object) = object else { continue };
            if object.get(field).is_none_or(|id| id.is_null() || *id == "") {
                object.insert(field.to_owned(), self.nth(list, index).text.into());
            }
        }
    }

    /// Sets the id of a record, which must not have one.
    pub(crate) fn fill<I>(&self, field: &'static str, id: &mut Option<I>) -> Result<(), Problem>
    where
        I: FromStr<Err: Display>,
    {
        if id.is_some() {
            let location = Location::from(Segment::key(field)).below(self.location.clone());
            let detail = "must be missing: the header Idempotency-Key is this id";
            return Err(Problem::invalid_body(location, detail));
        }
        let parsed = self.text.parse().map_err(|error: I::Err| {
            let detail = format!("must be usable as {field}: {error}");
            Problem::invalid_parameter("Idempotency-Key", detail)
        })?;
        *id = Some(parsed);
        Ok(())
    }
}

/// Returns the id of a record that must have one.
pub(crate) fn required_id<I>(field: &'static str, id: Option<I>) -> Result<I, Problem> {
    let detail = "is missing; it may also be given as the header Idempotency-Key";
    id.ok_or_else(|| Problem::invalid_body(Segment::key(field), detail))
}
