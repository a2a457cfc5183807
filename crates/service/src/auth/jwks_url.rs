use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::{StatusCode, Uri};
use http_body_util::{BodyExt as _, Empty, Limited};
use hyper::body::Bytes;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

use crate::config::ConfigError;

/// The longest time that one fetch may take, from the name lookup to the last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(3);
/// The largest JWKS that is read, in bytes.
const MAX_JWKS_BYTES: usize = 256 << 10;

/// The address at which the issuer lists its keys.
#[derive(Clone)]
pub(super) struct JwksUrl(Uri);

impl fmt::Debug for JwksUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query may hold a secret.
        f.debug_tuple("JwksUrl").field(&self.0.host()).finish()
    }
}

impl JwksUrl {
    /// Accepts https, and http on a loopback address.
    pub(super) fn parse(text: &str) -> Result<Self, ConfigError> {
        let refused = |detail| Err(ConfigError::JwksUrl { detail });
        let Ok(uri) = text.parse::<Uri>() else { return refused("it is not a URL") };
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
            return refused("it names no host");
        };
        if authority.as_str().contains('@') {
            return refused("it must not hold a user or a password");
        }
        match uri.scheme_str() {
            Some("https") => Ok(Self(uri)),
            Some("http") if is_loopback(host) => Ok(Self(uri)),
            _ => refused("it must begin with https://, or name this machine with http://"),
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// Fetches the keys of an issuer. It follows no redirects and uses no proxy.
pub(super) struct JwksClient {
    url: JwksUrl,
    client: Client<HttpsConnector<HttpConnector>, Empty<Bytes>>,
}

impl JwksClient {
    pub(super) fn new(url: JwksUrl) -> Self {
        let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http();
        let client = Client::builder(TokioExecutor::new()).build(connector.enable_http1().build());
        Self { url, client }
    }

    /// Returns the body of the response, or what went wrong.
    pub(super) async fn fetch(&self) -> Result<Bytes, String> {
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, self.fetch_unbounded()).await;
        fetched.unwrap_or_else(|_| Err(format!("no response within {FETCH_TIMEOUT:?}")))
    }

    async fn fetch_unbounded(&self) -> Result<Bytes, String> {
        let response = self.client.get(self.url.0.clone()).await.map_err(|e| chain(&e))?;
        if response.status() != StatusCode::OK {
            return Err(format!("the issuer responded with status {}", response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_JWKS_BYTES).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(|error| error.to_string())
    }
}

fn chain(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {}", chain(source)),
        None => error.to_string(),
    }
}
