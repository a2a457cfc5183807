//! A small client for the HTTP API, such as an orchestrator would have.

mod answer;
mod documents;
mod events;
mod frames;
mod listening;
mod refusal;

pub use answer::{Append, Appended, Dropped, History, MessagePage, Repaired};
pub use documents::{Content, Precondition};
pub use events::{Event, Events};
pub use frames::Frames;
pub use listening::{Listening, Way};
pub use refusal::{CallError, Problem, refusal};

use std::time::Duration;

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The app all chats of the tests belong to.
pub const APP: &str = "acme_corp";

/// Longer than any deadline of the service, so that a hanging call is recognised.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Calls one service.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: String,
}

impl Client {
    /// A client for the service at `url`.
    pub fn new(url: &str) -> anyhow::Result<Self> {
        Self::with_timeout(url, TIMEOUT)
    }

    /// A client that waits at most `timeout` for a response, and for each part of a streamed one.
    pub fn with_timeout(url: &str, timeout: Duration) -> anyhow::Result<Self> {
        let http = reqwest::Client::builder().read_timeout(timeout).no_proxy().build()?;
        Ok(Self { http, url: url.to_owned() })
    }

    /// A client for the service at `url` that sends a token.
    pub fn with_token(url: &str, token: &str) -> anyhow::Result<Self> {
        Self::with_headers(url, AUTHORIZATION, &format!("Bearer {token}"))
    }

    /// A client for the same service that sends a header with every call.
    pub fn with_header(&self, name: &'static str, value: &str) -> anyhow::Result<Self> {
        Self::with_headers(&self.url, HeaderName::from_static(name), value)
    }

    fn with_headers(url: &str, name: HeaderName, value: &str) -> anyhow::Result<Self> {
        let headers = HeaderMap::from_iter([(name, HeaderValue::try_from(value)?)]);
        let http = reqwest::Client::builder().read_timeout(TIMEOUT).no_proxy();
        Ok(Self { http: http.default_headers(headers).build()?, url: url.to_owned() })
    }

    /// Calls a route, and returns the body of a success; null where it has none.
    pub async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(Value::Null),
            status if status.is_success() => Ok(response.json().await?),
            _ => Err(CallError::Refused(Box::new(Problem::read(response).await?))),
        }
    }

    /// Creates a chat session of a workflow.
    pub async fn create_chat(&self, workflow_name: &str) -> Result<Chat, CallError> {
        let new = json!({ "workflow_name": workflow_name, "visibility": "link" });
        let created = self.call(Method::POST, &format!("/api/chats/{APP}"), Some(&new)).await?;
        let created: Created = typed(created)?;
        Ok(self.chat(&created.chat_id))
    }

    /// Calls the routes of one chat.
    pub fn chat(&self, chat_id: &str) -> Chat {
        Chat { client: self.clone(), chat_id: chat_id.to_owned() }
    }
}

#[derive(Deserialize)]
struct Created {
    chat_id: String,
}

/// Calls the routes of one chat.
#[derive(Clone, Debug)]
pub struct Chat {
    client: Client,
    chat_id: String,
}

impl Chat {
    /// Its id.
    pub fn id(&self) -> &str {
        &self.chat_id
    }

    /// Reads a route below the chat, such as `meta`.
    pub async fn get(&self, what: &str) -> Result<Value, CallError> {
        self.send(Method::GET, what, None).await
    }

    /// Replaces a value below the chat, such as `context`.
    pub async fn put(&self, what: &str, body: &Value) -> Result<Value, CallError> {
        self.send(Method::PUT, what, Some(body)).await
    }

    /// Posts to a route below the chat, such as `initial-messages`.
    pub async fn post(&self, what: &str, body: &Value) -> Result<Value, CallError> {
        self.send(Method::POST, what, Some(body)).await
    }

    /// Moves the chat to another status: `complete`, `pause`, `fail` or `reopen`.
    pub async fn turn(&self, verb: &str) -> Result<Value, CallError> {
        self.send(Method::POST, verb, None).await
    }

    /// Appends messages.
    pub async fn append(&self, messages: &[Value]) -> Result<Append, CallError> {
        typed(self.post("messages", &json!({ "messages": messages })).await?)
    }

    /// Reads the messages after a sequence, one page of them; -1 means the beginning.
    pub async fn page(&self, after: i64, limit: usize) -> Result<MessagePage, CallError> {
        self.read(&format!("messages?after={after}&limit={limit}")).await
    }

    /// Reads the newest messages.
    pub async fn newest(&self, limit: usize) -> Result<MessagePage, CallError> {
        self.read(&format!("messages?newest={limit}")).await
    }

    async fn read(&self, range: &str) -> Result<MessagePage, CallError> {
        typed(self.get(range).await?)
    }

    /// Reads all messages, page by page.
    pub async fn messages(&self) -> Result<Vec<Value>, CallError> {
        let (mut messages, mut after) = (Vec::new(), -1);
        loop {
            let page = self.page(after, 500).await?;
            messages.extend(page.messages);
            match messages.last().and_then(|message| message["sequence"].as_i64()) {
                Some(last) if page.next_cursor.is_some() => after = last,
                _ => return Ok(messages),
            }
        }
    }

    /// Reads the whole conversation in a dialect.
    pub async fn history(&self, dialect: &str) -> Result<History, CallError> {
        typed(self.get(&format!("history?dialect={dialect}")).await?)
    }

    /// Subscribes to its events, from the beginning or after an event.
    pub async fn events(&self, last_event_id: Option<&str>) -> Result<Events, CallError> {
        let url = format!("{}/api/chats/{APP}/{}/events", self.client.url, self.chat_id);
        let mut request = self.client.http.get(url);
        if let Some(id) = last_event_id {
            request = request.header("Last-Event-ID", id);
        }
        let response = request.send().await?;
        if response.status().is_success() {
            return Ok(Events::new(response));
        }
        Err(CallError::Refused(Box::new(Problem::read(response).await?)))
    }

    /// Subscribes over a WebSocket as to a chat of a workflow, from the beginning or after an event.
    pub async fn frames(
        &self,
        workflow_name: &str,
        after: Option<&str>,
    ) -> Result<Frames, CallError> {
        let after = after.map(|id| format!("?after={id}")).unwrap_or_default();
        let path = format!("/ws/{workflow_name}/{APP}/{}/reader{after}", self.chat_id);
        Frames::open(&self.client.url, &path).await
    }

    /// Calls any route below the chat.
    pub async fn send(
        &self,
        method: Method,
        what: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let path = format!("/api/chats/{APP}/{}/{what}", self.chat_id);
        self.client.call(method, &path, body).await
    }
}

fn typed<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    Ok(serde_json::from_value(body)?)
}
