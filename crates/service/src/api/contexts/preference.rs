use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::HeaderName;
use axum::http::request::Parts;
use records::{ChatId, ContextSnapshot, Scope};

use crate::extract::{Json, Tagged, tag_after_write};
use crate::operation::{Description, Input, Prepared, header};
use crate::wire::ContextResponse;

const PREFER: HeaderName = HeaderName::from_static("prefer");
const PREFERENCE_APPLIED: HeaderName = HeaderName::from_static("preference-applied");
const MINIMAL: &str = "return=minimal";

/// How much of a snapshot the response to a write repeats, from the header `Prefer` (RFC 7240).
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Preference {
    /// The whole snapshot.
    Representation,
    /// Nothing of it.
    Minimal,
}

impl<S: Sync> FromRequestParts<S> for Preference {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let given = parts.headers.get_all(PREFER).iter().filter_map(|value| value.to_str().ok());
        let mut preferences = given.flat_map(|value| value.split(','));
        let is_minimal = preferences.any(|text| text.trim().eq_ignore_ascii_case(MINIMAL));
        Ok(if is_minimal { Self::Minimal } else { Self::Representation })
    }
}

impl Input for Preference {
    fn describe(description: &mut Description) {
        let text = "`return=minimal` for a response without the variables.";
        description.parameter(header("Prefer", text, MINIMAL));
    }
}

impl Preference {
    /// Responds to a write of a snapshot.
    pub(super) fn respond(
        self,
        scope: &Scope,
        chat_id: ChatId,
        snapshot: ContextSnapshot,
    ) -> Tagged<Prepared<Json<ContextResponse>>> {
        let response = ContextResponse::new(chat_id, snapshot);
        let response = match self {
            Self::Representation => Prepared::new(Json(response)),
            Self::Minimal => {
                let response = Json(response.without_variables());
                Prepared::new(([(PREFERENCE_APPLIED, MINIMAL)], response))
            }
        };
        Tagged { tag: tag_after_write(scope), response }
    }
}
