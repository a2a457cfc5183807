use axum::http::header::{AUTHORIZATION, ORIGIN};
use axum::http::{HeaderMap, HeaderValue, Method};

use super::{Authenticator, cookies};
use crate::problem::{Problem, ProblemKind};

impl Authenticator {
    /// Takes the token of a request from one of these cookies, as if it had come in `Authorization`. A request that has that header
    /// stays as it is.
    ///
    /// A browser sends a cookie also with the requests of other sites. So every page that `Origin` names must be of the service or
    /// allowed, and a request that changes something must name its page.
    pub(crate) fn accept_token_cookie(
        &self,
        names: &[&str],
        method: &Method,
        headers: &mut HeaderMap,
    ) -> Result<(), Problem> {
        let Self::Jwt { origins, .. } = self else { return Ok(()) };
        if headers.contains_key(AUTHORIZATION) {
            return Ok(());
        }
        let token = names.iter().find_map(|name| cookies::cookie(headers, name));
        let Some(value) = token.and_then(header_of) else { return Ok(()) };
        let is_unnamed = !method.is_safe() && !headers.contains_key(ORIGIN);
        let objection = origins.objection(headers);
        let objection = objection.or_else(|| is_unnamed.then_some(NO_ORIGIN));
        if let Some(objection) = objection {
            return Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, objection));
        }
        headers.insert(AUTHORIZATION, value);
        Ok(())
    }
}

/// The objection to a change by an unknown page.
const NO_ORIGIN: &str =
    "a request that changes something by a token in a cookie needs the header Origin";

/// Returns the header for a token. The value of the cookie may begin with the scheme.
fn header_of(cookie: &str) -> Option<HeaderValue> {
    let schemes = ["Bearer ", "Bearer%20", "Bearer+"];
    let token = schemes.iter().find_map(|scheme| cookie.strip_prefix(scheme)).unwrap_or(cookie);
    HeaderValue::try_from(format!("Bearer {token}")).ok().filter(|_| !token.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheme_in_the_cookie_is_optional() {
        for cookie in ["a.b.c", "Bearer a.b.c", "Bearer%20a.b.c", "Bearer+a.b.c"] {
            assert_eq!(header_of(cookie).unwrap(), "Bearer a.b.c", "{cookie}");
        }
        for cookie in ["", "Bearer ", "a\n"] {
            assert_eq!(header_of(cookie), None, "{cookie:?}");
        }
    }
}
