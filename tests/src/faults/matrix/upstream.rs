//! A service behind a test proxy.

use anyhow::Result;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use futures::{Stream, stream};
use reqwest::header::{CONTENT_TYPE, RETRY_AFTER};
use tokio::net::TcpListener;

use crate::faults::cluster::Host;

/// The target of passed on requests.
pub(super) struct Upstream {
    url: String,
    http: reqwest::Client,
}

const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");

impl Upstream {
    /// A service at its current address.
    pub(super) fn of(host: &Host) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        Ok(Self { url: host.service()?.url().to_owned(), http })
    }

    /// Passes a request on, and streams its response back.
    pub(super) async fn pass(
        &self,
        method: Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response> {
        let answer = self.send(method, uri, headers, body).await?;
        let (status, headers) = head(&answer);
        Ok((status, headers, Body::from_stream(chunks(answer))).into_response())
    }

    /// Sends a request unchanged.
    pub(super) async fn send(
        &self,
        method: Method,
        uri: &Uri,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<reqwest::Response> {
        let mut request = self.http.request(method, format!("{}{uri}", self.url));
        if let Some(id) = headers.get(LAST_EVENT_ID) {
            request = request.header(LAST_EVENT_ID, id);
        }
        Ok(request.header(CONTENT_TYPE, "application/json").body(body).send().await?)
    }

    /// Sends a GET request.
    pub(super) async fn get(&self, path: &str) -> Result<reqwest::Response> {
        Ok(self.http.get(format!("{}{path}", self.url)).send().await?)
    }
}

/// The status and headers of a response.
pub(super) fn head(answer: &reqwest::Response) -> (StatusCode, HeaderMap) {
    let kept = [CONTENT_TYPE, RETRY_AFTER].into_iter();
    let headers = kept.filter_map(|name| {
        let value = answer.headers().get(&name)?.clone();
        Some((name, value))
    });
    (answer.status(), headers.collect())
}

/// The streamed body of a response.
pub(super) fn chunks(answer: reqwest::Response) -> impl Stream<Item = reqwest::Result<Bytes>> {
    stream::try_unfold(answer, async |mut answer| {
        Ok(answer.chunk().await?.map(|chunk| (chunk, answer)))
    })
}

/// Serves all later callers of a service.
pub(super) async fn stand_before(host: &Host, app: Router) -> Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    host.reach_at(&format!("http://{}", listener.local_addr()?))?;
    tokio::spawn(axum::serve(listener, app).into_future());
    Ok(())
}

/// The service could not be reached.
pub(super) struct Broken(anyhow::Error);

impl From<anyhow::Error> for Broken {
    fn from(error: anyhow::Error) -> Self {
        Self(error)
    }
}

impl IntoResponse for Broken {
    fn into_response(self) -> Response {
        (StatusCode::BAD_GATEWAY, format!("{:#}", self.0)).into_response()
    }
}
