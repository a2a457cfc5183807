//! A small client for the HTTP API, such as an orchestrator would have.

use std::time::Duration;

use reqwest::header::RETRY_AFTER;
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// The app all chats of the tests belong to.
pub const APP: &str = "acme_corp";

/// Longer than any deadline of the service, so that a hanging call is seen as one.
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
        let http = reqwest::Client::builder().timeout(TIMEOUT).no_proxy().build()?;
        Ok(Self { http, url: url.to_owned() })
    }

    /// Calls a route, and answers with the body of a success.
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
        if response.status().is_success() {
            return Ok(response.json().await?);
        }
        Err(CallError::Refused(Problem::read(response).await?))
    }

    /// Creates a chat session of a workflow.
    pub async fn create_chat(&self, workflow_name: &str) -> Result<Chat, CallError> {
        let new = json!({ "workflow_name": workflow_name });
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

    /// Reads what lies below the chat, such as `meta`.
    pub async fn get(&self, what: &str) -> Result<Value, CallError> {
        self.call(Method::GET, what, None).await
    }

    /// Replaces what lies below the chat, such as `context`.
    pub async fn put(&self, what: &str, body: &Value) -> Result<Value, CallError> {
        self.call(Method::PUT, what, Some(body)).await
    }

    /// Adds to what lies below the chat, such as `initial-messages`.
    pub async fn post(&self, what: &str, body: &Value) -> Result<Value, CallError> {
        self.call(Method::POST, what, Some(body)).await
    }

    /// Moves the chat to another status: `complete`, `pause`, `fail` or `reopen`.
    pub async fn turn(&self, verb: &str) -> Result<Value, CallError> {
        self.call(Method::POST, verb, None).await
    }

    /// Appends messages.
    pub async fn append(&self, messages: &[Value]) -> Result<Append, CallError> {
        typed(self.post("messages", &json!({ "messages": messages })).await?)
    }

    /// Reads the messages after a sequence, one page of them; -1 stands for the beginning.
    pub async fn page(&self, after: i64, limit: usize) -> Result<MessagePage, CallError> {
        typed(self.get(&format!("messages?after={after}&limit={limit}")).await?)
    }

    /// Reads all messages, page by page.
    pub async fn messages(&self) -> Result<Vec<Value>, CallError> {
        let (mut messages, mut after) = (Vec::new(), -1);
        loop {
            let page = self.page(after, 500).await?;
            messages.extend(page.messages);
            match messages.last().and_then(|message| message["sequence"].as_i64()) {
                Some(last) if page.has_more => after = last,
                _ => return Ok(messages),
            }
        }
    }

    /// Reads the whole conversation in a dialect.
    pub async fn history(&self, dialect: &str) -> Result<History, CallError> {
        typed(self.get(&format!("history?dialect={dialect}")).await?)
    }

    async fn call(
        &self,
        method: Method,
        what: &str,
        body: Option<&Value>,
    ) -> Result<Value, CallError> {
        let path = format!("/api/chats/{APP}/{}/{what}", self.chat_id);
        self.client.call(method, &path, body).await
    }
}

/// What came of an append.
#[derive(Debug, Deserialize)]
pub struct Append {
    /// The chat's counter after it.
    pub last_sequence: u64,
    /// One for each message, in their order.
    pub messages: Vec<Appended>,
}

/// What came of one message.
#[derive(Clone, Debug, Deserialize, PartialEq)]
pub struct Appended {
    /// The id it has.
    pub event_id: String,
    /// The sequence it has.
    pub sequence: u64,
    /// Whether the chat had it already.
    pub duplicate: bool,
}

/// A page of messages.
#[derive(Debug, Deserialize)]
pub struct MessagePage {
    /// The chat's counter.
    pub last_sequence: u64,
    /// The messages, oldest first.
    pub messages: Vec<Value>,
    /// Whether there are later ones.
    pub has_more: bool,
}

/// A conversation in a dialect.
#[derive(Debug, Deserialize)]
pub struct History {
    /// The messages, oldest first.
    pub messages: Vec<Value>,
    /// What the dialect has no place for.
    pub dropped: Vec<Dropped>,
    /// What had to be changed to fit.
    #[serde(default)]
    pub repaired: Vec<Repaired>,
}

/// A message that was changed.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Repaired {
    /// Its sequence.
    pub sequence: u64,
}

/// A message that was left out.
#[derive(Debug, Deserialize, PartialEq)]
pub struct Dropped {
    /// Its sequence.
    pub sequence: u64,
    /// Why, as a word.
    pub reason: String,
}

/// Why a call did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum CallError {
    /// The service did not answer, or not to the end.
    #[error("no answer")]
    NoAnswer(#[from] reqwest::Error),
    /// The service answered with a problem.
    #[error("the service answered {} ({}): {}", .0.status, .0.kind, .0.detail)]
    Refused(Problem),
    /// The answer is not what the route is said to answer with.
    #[error("the answer has another shape than it should")]
    OtherShape(#[from] serde_json::Error),
}

impl CallError {
    /// Tells whether the same call may succeed later: the service or its store was away, or the
    /// outcome is unknown.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::NoAnswer(_) => true,
            Self::Refused(problem) => matches!(problem.status, 503 | 504),
            Self::OtherShape(_) => false,
        }
    }
}

/// Answers with the problem of a call that is expected to be refused.
pub fn refusal<T>(answer: Result<T, CallError>) -> anyhow::Result<Problem> {
    match answer {
        Ok(_) => anyhow::bail!("the call was not refused"),
        Err(CallError::Refused(problem)) => Ok(problem),
        Err(error) => Err(error.into()),
    }
}

/// A problem as the service describes it (RFC 9457).
#[derive(Debug, Deserialize)]
pub struct Problem {
    /// The kind of problem.
    #[serde(rename = "type")]
    pub kind: String,
    /// The HTTP status.
    pub status: u16,
    /// What happened.
    pub detail: String,
    /// When to try again, in seconds.
    #[serde(skip)]
    pub retry_after: Option<u64>,
}

impl Problem {
    async fn read(response: Response) -> Result<Self, CallError> {
        let status = response.status();
        let retry_after = response.headers().get(RETRY_AFTER);
        let retry_after =
            retry_after.and_then(|seconds| seconds.to_str().ok()).and_then(|s| s.parse().ok());
        let text = response.text().await?;
        let told: Result<Self, _> = serde_json::from_str(&text);
        let problem = told.unwrap_or_else(|_| Self::untold(status, text));
        Ok(Self { retry_after, ..problem })
    }

    /// What is not described as a problem, such as the answer of `ready`.
    fn untold(status: StatusCode, text: String) -> Self {
        let status = status.as_u16();
        Self { kind: "untold".to_owned(), status, detail: text, retry_after: None }
    }
}

fn typed<T: DeserializeOwned>(body: Value) -> Result<T, CallError> {
    Ok(serde_json::from_value(body)?)
}
