use axum::http::{HeaderMap, HeaderValue, Uri, header};

use crate::outgoing::is_loopback;

/// Returns why a request without a token may not come from a program of this machine.
///
/// The service listens on a loopback address, but a browser on this machine sends requests there on behalf
/// of any page. Such a request has the page as its `Origin`. If the page has pointed its own host name at this
/// machine (DNS rebinding), the request has that name as its `Host`.
pub(super) fn objection(headers: &HeaderMap) -> Option<&'static str> {
    let is_foreign = |name, is_local: fn(&str) -> bool| {
        headers.get_all(name).iter().map(HeaderValue::to_str).any(|text| !text.is_ok_and(is_local))
    };
    if is_foreign(header::HOST, is_local_authority) {
        return Some(
            "the Host header must name a loopback address: without authentication only this machine may call",
        );
    }
    if is_foreign(header::ORIGIN, is_local_origin) {
        return Some(
            "the Origin header must name a loopback address: without authentication only this machine may call",
        );
    }
    None
}

fn is_local_origin(origin: &str) -> bool {
    origin.split_once("://").is_some_and(|(_, authority)| is_local_authority(authority))
}

fn is_local_authority(authority: &str) -> bool {
    Uri::try_from(authority).is_ok_and(|uri| uri.host().is_some_and(is_loopback))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_loopback_names_are_local() {
        for local in ["localhost", "LOCALHOST:8080", "127.0.0.1:1", "127.8.8.8", "[::1]:8080"] {
            assert!(is_local_authority(local), "{local}");
        }
        let foreign = ["evil.example", "localhost.evil.example", "10.0.0.1:80", "", "a b", "[::2]"];
        for foreign in foreign {
            assert!(!is_local_authority(foreign), "{foreign}");
        }
    }

    #[test]
    fn only_pages_of_this_machine_are_local() {
        assert!(is_local_origin("http://localhost:3000"));
        for foreign in ["null", "http://evil.example", "localhost", "http://127.0.0.1.evil.example"]
        {
            assert!(!is_local_origin(foreign), "{foreign}");
        }
    }
}
