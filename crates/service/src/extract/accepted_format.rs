use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT;
use axum::http::request::Parts;
use headers_accept::Accept;
use headers_core::Header as _;
use mediatype::names::{APPLICATION, JSON};
use mediatype::{MediaType, Name};

use crate::history::Format;
use crate::operation::{Description, Input};
use crate::problem::{Problem, ProblemKind};

static AVAILABLE: [(MediaType<'static>, Format); 2] = [
    (MediaType::new(APPLICATION, JSON), Format::Json),
    (MediaType::new(APPLICATION, Name::new_unchecked("x-ndjson")), Format::Ndjson),
];

/// The response format that the caller prefers, from the header `Accept`.
///
/// The default is JSON, also for a header that cannot be parsed. A caller that accepts no available format
/// is refused with 406 (RFC 9110, 12.5.1).
#[derive(Debug)]
pub(crate) struct AcceptedFormat(pub(crate) Format);

impl<S: Sync> FromRequestParts<S> for AcceptedFormat {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let Ok(accepted) = Accept::decode(&mut parts.headers.get_all(ACCEPT).iter()) else {
            return Ok(Self(Format::Json));
        };
        let best = accepted.negotiate(AVAILABLE.iter().map(|(media_type, _)| media_type));
        let format = AVAILABLE.iter().find(|(media_type, _)| Some(media_type) == best);
        format.map(|(_, format)| Self(*format)).ok_or_else(|| {
            let [json, ndjson] = [Format::Json, Format::Ndjson].map(Format::media_type);
            let detail = format!("no acceptable media type in Accept; supported: {json}, {ndjson}");
            Problem::new(ProblemKind::NOT_ACCEPTABLE, detail)
        })
    }
}

impl Input for AcceptedFormat {
    fn describe(description: &mut Description) {
        description.problems(&[ProblemKind::NOT_ACCEPTABLE]);
    }
}
