use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use axum::http::{Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;
use tracing::Instrument as _;

use crate::tls::handshake_failure;
use crate::traces;

/// The longest time that one request may take, from the name lookup to the last byte.
const TIMEOUT: Duration = Duration::from_secs(3);
/// The largest response that is read, in bytes.
const MAX_BYTES: usize = 256 << 10;

/// An address to which requests are sent: of an issuer, of a receiver of webhooks, or of another service.
#[derive(Clone)]
pub struct OutgoingUrl(Uri);

impl fmt::Debug for OutgoingUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The query may hold a secret.
        f.debug_tuple("OutgoingUrl").field(&self.0.host()).finish()
    }
}

impl OutgoingUrl {
    pub(crate) fn uri(&self) -> &Uri {
        &self.0
    }

    /// Accepts https, and http on a loopback address. Returns what is wrong with any other text.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let uri = text.parse::<Uri>().map_err(|_| "it is not a URL")?;
        let (Some(host), Some(authority)) = (uri.host(), uri.authority()) else {
            return Err("it names no host");
        };
        if authority.as_str().contains('@') {
            return Err("it must not hold a user or a password");
        }
        match uri.scheme_str() {
            Some("https") => Ok(Self(uri)),
            Some("http") if is_loopback(host) => Ok(Self(uri)),
            _ => Err("it must begin with https://, or name this machine with http://"),
        }
    }
}

/// Tells whether the host of an address is this machine, by its name alone.
pub(crate) fn is_loopback(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|address| address.is_loopback())
}

/// Sends requests. It follows no redirects and uses no proxy.
#[derive(Debug, Clone)]
pub struct OutgoingClient {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    timeout: Duration,
    max_bytes: usize,
}

/// Why a request has no response.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OutgoingError {
    /// It was answered with more bytes than the client takes.
    #[error("the response has more than {0} bytes")]
    TooLarge(usize),
    /// It could not be sent, or was not answered.
    #[error("{0}")]
    Failed(String),
}

impl OutgoingClient {
    pub(crate) fn new() -> Self {
        Self::with_limits(TIMEOUT, MAX_BYTES)
    }

    /// Creates a client whose requests take at most this time, from the name lookup to the last byte, and whose responses have at
    /// most this many bytes.
    pub fn with_limits(timeout: Duration, max_bytes: usize) -> Self {
        let connector = HttpsConnectorBuilder::new().with_webpki_roots().https_or_http();
        let connector = connector.enable_http1().build();
        let client = Client::builder(TokioExecutor::new()).build(connector);
        Self { client, timeout, max_bytes }
    }

    /// Returns the body of a successful response to GET.
    pub(crate) async fn get(&self, url: &OutgoingUrl) -> Result<Vec<u8>, OutgoingError> {
        let mut request = Request::new(Vec::new());
        *request.uri_mut() = url.0.clone();
        let span = traces::outgoing("GET", url.0.host().unwrap_or_default(), request.headers_mut());
        let response = self.send(request).instrument(span).await?;
        match response.status() {
            StatusCode::OK => Ok(response.into_body()),
            status => Err(OutgoingError::Failed(format!("the response has the status {status}"))),
        }
    }

    /// Returns the response to a request, with its whole body.
    pub async fn send(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OutgoingError> {
        let sent = tokio::time::timeout(self.timeout, self.send_unbounded(request)).await;
        sent.unwrap_or_else(|_| Err(self.too_late()))
    }

    /// Returns the status of the response to a request. What its body is, and whether it ends, does not matter.
    pub(crate) async fn deliver(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<StatusCode, OutgoingError> {
        let deadline = Instant::now() + self.timeout;
        let head = tokio::time::timeout_at(deadline, self.head(request)).await;
        let response = head.unwrap_or_else(|_| Err(self.too_late()))?;
        let status = response.status();
        // The connection can be used again only after the body.
        let body = Limited::new(response.into_body(), self.max_bytes).collect();
        drop(tokio::time::timeout_at(deadline, body).await);
        Ok(status)
    }

    fn too_late(&self) -> OutgoingError {
        OutgoingError::Failed(format!("no response within {:?}", self.timeout))
    }

    /// Returns the response to a request, without its body.
    async fn head(&self, request: Request<Vec<u8>>) -> Result<Response<Incoming>, OutgoingError> {
        let request = request.map(|body| Full::new(Bytes::from(body)));
        let response = self.client.request(request).await;
        response.map_err(|error| OutgoingError::Failed(chain(&error)))
    }

    async fn send_unbounded(
        &self,
        request: Request<Vec<u8>>,
    ) -> Result<Response<Vec<u8>>, OutgoingError> {
        let (parts, body) = self.head(request).await?.into_parts();
        let body = Limited::new(body, self.max_bytes).collect().await;
        let body = body.map_err(|error| {
            if error.is::<LengthLimitError>() {
                OutgoingError::TooLarge(self.max_bytes)
            } else {
                OutgoingError::Failed(error.to_string())
            }
        })?;
        Ok(Response::from_parts(parts, body.to_bytes().into()))
    }
}

fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    match (error.source(), error.downcast_ref()) {
        (Some(source), _) => format!("{error}: {}", chain(source)),
        (None, Some(failed)) => handshake_failure(failed),
        (None, None) => error.to_string(),
    }
}
