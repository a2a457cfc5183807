use axum::http::uri::Authority;
use axum::http::{HeaderMap, HeaderValue, Uri, header};

use crate::config::ConfigError;

/// The origins whose pages may call the service and open sockets, besides the origin of the service.
#[derive(Debug)]
pub(crate) struct Origins(Vec<String>);

impl Origins {
    pub(super) fn new(allowed: &[String]) -> Result<Self, ConfigError> {
        match allowed.iter().find(|origin| !is_origin(origin)) {
            Some(origin) => Err(ConfigError::Origin { origin: origin.clone() }),
            None => Ok(Self(allowed.to_vec())),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the allowed origins as browsers write them.
    pub(super) fn values(&self) -> impl Iterator<Item = HeaderValue> {
        self.0.iter().filter_map(|origin| origin.to_ascii_lowercase().parse().ok())
    }

    /// Returns why the page that sends a request is not trusted.
    ///
    /// A request without an `Origin` does not come from a page in a browser, and is accepted.
    pub(super) fn objection(&self, headers: &HeaderMap) -> Option<&'static str> {
        let mut origins = headers.get_all(header::ORIGIN).iter().map(HeaderValue::to_str);
        let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
        let is_trusted =
            origins.all(|origin| origin.is_ok_and(|origin| self.is_trusted(origin, host)));
        (!is_trusted).then_some(
            "the Origin is neither that of the service nor listed in auth.allowed_origins",
        )
    }

    fn is_trusted(&self, origin: &str, host: Option<&str>) -> bool {
        let own = origin.split_once("://").map(|(_, authority)| authority);
        own.zip(host).is_some_and(|(own, host)| own.eq_ignore_ascii_case(host))
            || self.0.iter().any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }
}

/// Tells whether a text is an origin as browsers send it: a scheme, a host and optionally a port.
fn is_origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return false };
    let has_user = authority.contains('@');
    text.parse::<Uri>().is_ok()
        && matches!(scheme, "http" | "https")
        && authority.parse::<Authority>().is_ok_and(|authority| !authority.host().is_empty())
        && !has_user
}

#[cfg(test)]
mod tests {
    use super::*;

    fn objects(origin: &[&str], host: &str) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, host.parse().unwrap());
        for origin in origin {
            headers.append(header::ORIGIN, origin.parse().unwrap());
        }
        let origins = Origins::new(&["https://app.example".to_owned()]).unwrap();
        origins.objection(&headers).is_some()
    }

    #[test]
    fn only_the_own_origin_and_those_allowed_are_trusted() {
        for trusted in [&[][..], &["https://app.example"], &["HTTPS://chat.example:8443"]] {
            assert!(!objects(trusted, "chat.example:8443"), "{trusted:?}");
        }
        for foreign in [
            &["https://evil.example"][..],
            &["null"],
            &[""],
            &["https://chat.example"],
            &["http://app.example"],
            &["https://app.example.evil.example"],
            &["https://app.example", "https://evil.example"],
        ] {
            assert!(objects(foreign, "chat.example:8443"), "{foreign:?}");
        }
    }

    #[test]
    fn what_no_browser_would_send_cannot_be_allowed() {
        for text in
            ["*", "app.example", "https://", "https://a/b", "ftp://a", "https://u@a", "null"]
        {
            assert!(Origins::new(&[text.to_owned()]).is_err(), "{text}");
        }
    }
}
