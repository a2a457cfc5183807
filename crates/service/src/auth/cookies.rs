use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, header};

/// The session of a person who has signed in.
pub(super) const SESSION: &str = "__Host-reprise_session";
/// A sign-in that has begun.
pub(super) const SIGN_IN: &str = "__Host-reprise_sign_in";

/// With which requests of other sites a browser sends a cookie.
#[derive(Debug, Clone, Copy)]
pub(super) enum SameSite {
    /// With none.
    Strict,
    /// When a person follows a link or a redirect.
    Lax,
}

/// Returns the value of a cookie; `None` if it is missing or there are several.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let texts = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    let pairs =
        texts.flat_map(|text| text.split(';')).filter_map(|pair| pair.trim().split_once('='));
    let mut values = pairs.filter(|(given, _)| *given == name).map(|(_, value)| value);
    match (values.next(), values.next()) {
        (value, None) => value,
        _ => None,
    }
}

/// Returns the header that sets a cookie, which only this service gets back, over an encrypted connection, and no
/// script can read. A lifetime of zero removes it.
pub(super) fn set(name: &str, value: &str, same_site: SameSite, lives: Duration) -> HeaderValue {
    let (same_site, seconds) = (format!("{same_site:?}"), lives.as_secs());
    let text = format!(
        "{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; Secure; SameSite={same_site}"
    );
    // Every value consists of characters of base64url, digits and dots.
    HeaderValue::try_from(text).unwrap_or_else(|_| HeaderValue::from_static(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_cookie_of_a_name_is_read() {
        for (given, expected) in [
            (&["a=1; b=2"][..], Some("2")),
            (&["a=1", "b=2"], Some("2")),
            (&["b="], Some("")),
            (&["b=2; b=3"], None),
            (&["b=2", "b=2"], None),
            (&["ab=2; b"], None),
            (&[], None),
        ] {
            let mut headers = HeaderMap::new();
            for text in given {
                headers.append(header::COOKIE, text.parse().unwrap());
            }
            assert_eq!(cookie(&headers, "b"), expected, "{given:?}");
        }
    }

    #[test]
    fn a_cookie_is_kept_from_scripts_and_other_sites() {
        let set = set(SESSION, "x", SameSite::Strict, Duration::from_mins(1));
        let expected =
            "__Host-reprise_session=x; Path=/; Max-Age=60; HttpOnly; Secure; SameSite=Strict";
        assert_eq!(set, expected);
    }
}
