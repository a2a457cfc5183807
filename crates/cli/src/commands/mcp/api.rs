use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context as _, bail};
use axum::http::header::{ACCEPT, AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderValue, Method, Request};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use records::AppId;
use serde_json::Value;
use service::{OutgoingClient, OutgoingError, OutgoingUrl};

/// The longest time that one request may take: longer than the service takes.
const TIMEOUT: Duration = Duration::from_mins(1);
/// The largest answer, in bytes. A page ends at 4 MiB.
const MAX_BYTES: usize = 16 << 20;

/// The API of a service, for one app.
#[derive(Debug, Clone)]
pub(super) struct Api {
    client: OutgoingClient,
    url: String,
    app_id: AppId,
    /// The file with the token: another one may be written to it.
    token_file: Option<PathBuf>,
}

/// What is asked of the service: a path below `/api`, with its parameters, and a body.
#[derive(Debug)]
pub(super) struct Call {
    method: Method,
    path: String,
    body: Option<Value>,
}

impl Call {
    /// Reads a path.
    pub(super) fn get(segments: &[&str]) -> Self {
        Self::new(Method::GET, segments)
    }

    /// Posts a body to a path.
    pub(super) fn post(segments: &[&str], body: Value) -> Self {
        Self { body: Some(body), ..Self::new(Method::POST, segments) }
    }

    fn new(method: Method, segments: &[&str]) -> Self {
        let mut path = "/api".to_owned();
        for segment in segments {
            // Writing to a string does not fail.
            let _ = write!(path, "/{}", encoded(segment));
        }
        path.push('?');
        Self { method, path, body: None }
    }

    /// Adds a parameter, if it has a value.
    pub(super) fn with(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            let _ = write!(self.path, "{name}={}&", encoded(&value.to_string()));
        }
        self
    }
}

/// The caller for whom a request is sent, over HTTP.
#[derive(Debug, Default)]
pub(super) struct Caller<'a> {
    /// The header with the token of its own request, if it has one.
    pub(super) authorization: Option<&'a HeaderValue>,
    /// Its address, behind those of the proxies before it.
    pub(super) forwarded_for: Option<String>,
}

/// All but the unreserved characters (RFC 3986), which a route must not have encoded.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

fn encoded(text: &str) -> impl std::fmt::Display + '_ {
    utf8_percent_encode(text, RESERVED)
}

impl Api {
    pub(super) fn new(
        url: &str,
        app_id: AppId,
        token_file: Option<PathBuf>,
    ) -> anyhow::Result<Self> {
        let url = url.trim_end_matches('/').to_owned();
        if let Err(fault) = OutgoingUrl::parse(&url) {
            bail!("--url {url}: {fault}");
        }
        let client = OutgoingClient::with_limits(TIMEOUT, MAX_BYTES);
        let api = Self { client, url, app_id, token_file };
        api.own_authorization()?;
        Ok(api)
    }

    /// Returns the header with the token of the file.
    fn own_authorization(&self) -> anyhow::Result<Option<HeaderValue>> {
        let Some(file) = &self.token_file else { return Ok(None) };
        let token = std::fs::read_to_string(file);
        let token = token.with_context(|| format!("cannot read {}", file.display()))?;
        let mut header = HeaderValue::try_from(format!("Bearer {}", token.trim()));
        if let Ok(header) = &mut header {
            header.set_sensitive(true);
        }
        header.map(Some).with_context(|| format!("{} holds no token", file.display()))
    }

    pub(super) fn app(&self) -> &str {
        self.app_id.as_str()
    }

    /// Returns the body of the answer, or what to tell the model.
    pub(super) async fn call(&self, call: Call, caller: Caller<'_>) -> Result<Value, String> {
        let Call { method, path, body } = call;
        let Caller { authorization, forwarded_for } = caller;
        let own = match authorization {
            Some(_) => None,
            None => self.own_authorization().map_err(|error| format!("{error:#}"))?,
        };
        let mut request = Request::builder().method(method).uri(format!("{}{path}", self.url));
        request = request.header(ACCEPT, "application/json");
        if let Some(authorization) = authorization.or(own.as_ref()) {
            request = request.header(AUTHORIZATION, authorization);
        }
        if let Some(addresses) = forwarded_for {
            request = request.header("x-forwarded-for", addresses);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let body = body.map(|body| body.to_string().into_bytes()).unwrap_or_default();
        let request = request.body(body).map_err(|error| error.to_string())?;
        let response = self.client.send(request).await.map_err(|error| match error {
            OutgoingError::TooLarge(bytes) => {
                format!(
                    "the answer has more than {bytes} bytes; ask for fewer with limit or newest"
                )
            }
            error => format!(
                "the service at {} does not answer ({error}); is it running, and is --url right?",
                self.url
            ),
        })?;
        let (status, body) = (response.status(), response.into_body());
        let body: Value = serde_json::from_slice(&body)
            .map_err(|_| format!("the service at {} answered {status} without JSON", self.url))?;
        if status.is_success() { Ok(body) } else { Err(problem(&body)) }
    }
}

/// Returns the text of a problem document.
fn problem(body: &Value) -> String {
    let text = |name: &str| body[name].as_str().unwrap_or_default().to_owned();
    let mut said = format!("{}: {} ({})", text("title"), text("detail"), text("code"));
    for error in body["errors"].as_array().into_iter().flatten() {
        let place = error["parameter"].as_str().or(error["pointer"].as_str()).unwrap_or_default();
        let _ = write!(said, "; {place} {}", error["detail"].as_str().unwrap_or_default());
    }
    said
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_encodes_what_it_is_given() {
        let call = Call::get(&["chats", "acme_corp", "a/b?c-1", "messages"]);
        let call = call.with("q", Some("x&y=ü")).with("limit", Some(3)).with("cursor", None::<u32>);
        assert_eq!(
            call.path,
            "/api/chats/acme_corp/a%2Fb%3Fc-1/messages?q=x%26y%3D%C3%BC&limit=3&"
        );
    }

    #[test]
    fn a_problem_names_its_fields() {
        let body = json!({
            "title": "The request is not acceptable", "detail": "a parameter is invalid; see errors",
            "code": "invalid-request", "errors": [{"parameter": "limit", "detail": "must be an integer"}],
        });
        let expected = "The request is not acceptable: a parameter is invalid; see errors \
            (invalid-request); limit must be an integer";
        assert_eq!(problem(&body), expected);
    }

    #[test]
    fn an_address_elsewhere_needs_https() {
        let api = |url| Api::new(url, AppId::parse("acme_corp").unwrap(), None);
        assert!(api("http://127.0.0.1:8080/").is_ok());
        assert!(api("https://reprise.example.com").is_ok());
        assert!(api("http://reprise.example.com").is_err());
    }
}
