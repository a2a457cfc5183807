//! A client of the API whose responses are the same in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Request};
use axum::response::Response;
use chrono::{DateTime, TimeDelta, Utc};
use persistence::Store;
use persistence::memory::MemoryStore;
use records::{Clock, Ids};
use serde_json::{Map, Value, json};
use service::{Config, router};
use tower::ServiceExt as _;

/// A clock that advances by a second with each call.
#[derive(Debug, Default)]
struct SteppingClock(AtomicI64);

impl Clock for SteppingClock {
    fn now(&self) -> DateTime<Utc> {
        let start = 1_759_399_200_000;
        let seconds = self.0.fetch_add(1, Ordering::Relaxed);
        DateTime::from_timestamp_millis(start + 1_000 * seconds).unwrap()
    }
}

/// Ids with consecutive numbers.
#[derive(Debug, Default)]
struct CountingIds(AtomicU64);

impl Ids for CountingIds {
    fn mint(&self, prefix: &str) -> String {
        format!("{prefix}{}", self.0.fetch_add(1, Ordering::Relaxed))
    }
}

/// Returns an empty store with such a clock and such ids.
pub(crate) fn memory() -> Arc<MemoryStore> {
    let (clock, ids) = (SteppingClock::default(), CountingIds::default());
    Arc::new(MemoryStore::new(Arc::new(clock), Arc::new(ids)))
}

/// A clock that is set by hand.
#[derive(Debug, Default)]
pub(crate) struct SetClock(AtomicI64);

impl SetClock {
    /// Returns the fixed time.
    pub(crate) fn start() -> DateTime<Utc> {
        DateTime::from_timestamp_millis(1_759_399_200_000).unwrap()
    }

    /// Sets the clock to a number of seconds after a fixed time early in an hour.
    pub(crate) fn set(&self, seconds: i64) {
        self.0.store(1_000 * seconds, Ordering::Relaxed);
    }
}

impl Clock for SetClock {
    fn now(&self) -> DateTime<Utc> {
        Self::start() + TimeDelta::milliseconds(self.0.load(Ordering::Relaxed))
    }
}

/// Returns an empty store with such a clock.
pub(crate) fn memory_with(clock: &Arc<SetClock>) -> Arc<MemoryStore> {
    Arc::new(MemoryStore::new(Arc::<SetClock>::clone(clock), Arc::new(CountingIds::default())))
}

/// A caller of the API.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    app: Router,
    token: Option<String>,
    fencing_token: Option<String>,
    key: Option<String>,
}

/// A response of the API.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Client {
    /// Creates a service in open mode, and a caller of it.
    pub(crate) fn open() -> Self {
        Self::over(memory(), Config::default())
    }

    /// Creates a service over a store, and a caller of it.
    pub(crate) fn over(store: Arc<dyn Store>, config: Config) -> Self {
        let app = router(store, config).unwrap();
        Self { app, token: None, fencing_token: None, key: None }
    }

    /// Returns a caller of the same service with a token.
    pub(crate) fn with_token(&self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    /// Returns a caller of the same service with a fencing token.
    pub(crate) fn fenced(&self, fencing_token: impl Into<String>) -> Self {
        Self { fencing_token: Some(fencing_token.into()), ..self.clone() }
    }

    /// Returns a caller of the same service whose requests have an `Idempotency-Key`.
    pub(crate) fn with_key(&self, key: &str) -> Self {
        Self { key: Some(key.to_owned()), ..self.clone() }
    }

    /// Returns the same caller of another router.
    pub(crate) fn at(&self, app: Router) -> Self {
        Self { app, ..self.clone() }
    }

    /// Returns the service.
    pub(crate) fn app(&self) -> Router {
        self.app.clone()
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.request("GET", path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.send(self.request("DELETE", path).body(Body::empty()).unwrap()).await
    }

    /// Posts without a body.
    pub(crate) async fn poke(&self, path: &str) -> Answer {
        self.send(self.request("POST", path).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn post(&self, path: &str, body: Value) -> Answer {
        self.json("POST", path, body.to_string()).await
    }

    pub(crate) async fn put(&self, path: &str, body: Value) -> Answer {
        self.json("PUT", path, body.to_string()).await
    }

    pub(crate) async fn patch(&self, path: &str, body: Value) -> Answer {
        self.json("PATCH", path, body.to_string()).await
    }

    /// Sends a text with the content type JSON, valid or not.
    pub(crate) async fn json(&self, method: &str, path: &str, body: impl Into<Body>) -> Answer {
        let request = self.request(method, path).header("content-type", "application/json");
        self.send(request.body(body.into()).unwrap()).await
    }

    /// Gets a response with a media type.
    pub(crate) async fn get_as(&self, media_type: &str, path: &str) -> Answer {
        let request = self.request("GET", path).header("accept", media_type);
        self.send(request.body(Body::empty()).unwrap()).await
    }

    /// Builds a request of this caller.
    pub(crate) fn request(&self, method: &str, path: &str) -> axum::http::request::Builder {
        let mut request =
            Request::builder().method(method).uri(path).header("x-request-id", "req_test");
        if let Some(fencing_token) = &self.fencing_token {
            request = request.header("fencing-token", fencing_token);
        }
        if let Some(key) = &self.key {
            request = request.header("idempotency-key", key);
        }
        match &self.token {
            Some(token) => request.header("authorization", format!("Bearer {token}")),
            None => request,
        }
    }

    pub(crate) async fn send(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        Answer::of(response).await
    }

    /// Sends a request; of a stream only the head is returned.
    pub(crate) async fn send_without_stream(&self, request: Request<Body>) -> Answer {
        let response = self.app.clone().oneshot(request).await.unwrap();
        let is_stream = response
            .headers()
            .get("content-type")
            .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
        Answer::of(response.map(|body| if is_stream { Body::empty() } else { body })).await
    }

    /// Creates a chat of workflow `Generator` in `acme_corp` that every user may join, and returns its path.
    pub(crate) async fn create_chat(&self, chat_id: &str) -> String {
        let body = json!({"chat_id": chat_id, "workflow_name": "Generator", "visibility": "link"});
        let answer = self.post("/api/chats/acme_corp", body).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        format!("/api/chats/acme_corp/{chat_id}")
    }
}

impl Answer {
    /// Reads a whole response.
    async fn of(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let bytes = to_bytes(body, usize::MAX).await.unwrap();
        Self {
            status: parts.status.as_u16(),
            headers: parts.headers,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) fn body(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }

    /// Returns the body without what says whether the record was stored before.
    pub(crate) fn record(&self) -> Value {
        let mut body = self.body();
        body.as_object_mut().unwrap().remove("duplicate");
        body
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Returns a string field of the body.
    pub(crate) fn text_of(&self, field: &str) -> String {
        self.body()[field].as_str().unwrap().to_owned()
    }

    /// Returns the status and the code of the problem.
    pub(crate) fn problem(&self) -> (u16, String) {
        assert_eq!(self.header("content-type"), "application/problem+json", "{}", self.text);
        let (kind, code) = (self.text_of("type"), self.text_of("code"));
        assert_eq!(kind, format!("/problems/{code}"));
        (self.status, code)
    }

    /// Returns the first part of the request that was refused: its pointer or parameter.
    pub(crate) fn culprit(&self) -> String {
        let error = &self.body()["errors"][0];
        let place = error.get("pointer").or(error.get("parameter"));
        place.and_then(Value::as_str).unwrap_or("none").to_owned()
    }

    /// Returns the parts of the response for a snapshot.
    pub(crate) fn snapshot(&self) -> Value {
        let body = if self.text.is_empty() { Value::Null } else { self.body() };
        json!({"status": self.status, "body": body})
    }

    /// Returns the status of the response, and the fields of its body that differ from those of `before`, for
    /// a snapshot.
    pub(crate) fn changes(&self, before: &Value) -> Value {
        let body = self.body();
        let (before, after) = (before.as_object().unwrap(), body.as_object().unwrap());
        assert!(before.keys().eq(after.keys()), "{}", self.text);
        let changed = after.iter().filter(|(field, value)| before[*field] != **value);
        let changed: Map<_, _> =
            changed.map(|(field, value)| (field.clone(), value.clone())).collect();
        json!({"status": self.status, "changed": changed})
    }
}
