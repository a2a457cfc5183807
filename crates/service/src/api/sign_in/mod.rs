//! People sign in in a browser, so that pages need no token.

pub(crate) mod begin;
pub(crate) mod end;
pub(crate) mod finish;
pub(crate) mod session;

use axum::http::header::{CACHE_CONTROL, LOCATION, SET_COOKIE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};

use crate::auth::{Redirect, SignIn};
use crate::operation::{Description, Output};
use crate::problem::{Problem, ProblemKind};
use crate::state::AppState;

fn sign_in(state: &AppState) -> Result<&SignIn, Problem> {
    state.authenticator.sign_in().ok_or_else(|| {
        let detail = "auth.sign_in.issuer is not set; use a token";
        Problem::new(ProblemKind::NO_SIGN_IN, detail)
    })
}

impl Output for Redirect {
    fn describe(description: &mut Description) {
        description.answers(StatusCode::SEE_OTHER);
        // A sign-in is stored, also by a `GET`.
        description.problems(&[ProblemKind::OUTCOME_UNKNOWN]);
    }
}

impl IntoResponse for Redirect {
    fn into_response(self) -> Response {
        let mut response = StatusCode::SEE_OTHER.into_response();
        let headers = response.headers_mut();
        match HeaderValue::try_from(self.location) {
            Ok(location) => headers.insert(LOCATION, location),
            Err(error) => {
                let detail = "the browser cannot be sent on";
                return Problem::new(ProblemKind::INTERNAL, detail)
                    .caused_by(error)
                    .into_response();
            }
        };
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        for cookie in self.cookies {
            headers.append(SET_COOKIE, cookie);
        }
        response
    }
}
