use reqwest::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH};
use reqwest::{Method, StatusCode};
use serde_json::Value;

use super::{CallError, Client, Problem};

/// What a write of a document depends on, or how it is recognised.
#[derive(Clone, Debug)]
pub enum Precondition {
    /// The id of the request.
    Key(String),
    /// The version of the document.
    Tag(String),
    /// There is no document.
    Missing,
}

/// A document that was read.
#[derive(Clone, Debug)]
pub struct Content {
    /// The `ETag`, with its quotation marks.
    pub entity_tag: String,
    /// The content.
    pub text: String,
}

impl Content {
    /// Returns the content as JSON, null if it is none.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }
}

impl Client {
    /// Reads a document of at most 8 MiB; `None` if there is none.
    pub async fn document(&self, app: &str, path: &str) -> Result<Option<Content>, CallError> {
        let response = self.http.get(self.document_url(app, path)).send().await?;
        match response.status() {
            StatusCode::NOT_FOUND => Ok(None),
            status if status.is_success() => {
                let entity_tag = response.headers().get(ETAG).and_then(|it| it.to_str().ok());
                let entity_tag = entity_tag.unwrap_or_default().to_owned();
                Ok(Some(Content { entity_tag, text: response.text().await? }))
            }
            _ => Err(CallError::Refused(Box::new(Problem::read(response).await?))),
        }
    }

    /// Reads all of a document, however large, from a byte on.
    pub async fn whole_document(&self, app: &str, path: &str) -> Result<Option<String>, CallError> {
        let mut text = String::new();
        loop {
            let request = self.http.get(self.document_url(app, path));
            let response = request.header("range", format!("bytes={}-", text.len())).send().await?;
            match response.status() {
                StatusCode::NOT_FOUND => return Ok(None),
                StatusCode::RANGE_NOT_SATISFIABLE => return Ok(Some(text)),
                status if status.is_success() => text.push_str(&response.text().await?),
                _ => return Err(CallError::Refused(Box::new(Problem::read(response).await?))),
            }
        }
    }

    /// Puts, appends to or deletes a document.
    pub async fn write_document(
        &self,
        method: Method,
        app: &str,
        path: &str,
        content: &str,
        precondition: &Precondition,
    ) -> Result<Value, CallError> {
        let request = self.http.request(method, self.document_url(app, path));
        let request = match precondition {
            Precondition::Key(key) => request.header("idempotency-key", key),
            Precondition::Tag(tag) => request.header(IF_MATCH, tag),
            Precondition::Missing => request.header(IF_NONE_MATCH, "*"),
        };
        let request = request.header(CONTENT_TYPE, "text/plain").body(content.to_owned());
        let response = request.send().await?;
        match response.status() {
            StatusCode::NO_CONTENT => Ok(Value::Null),
            status if status.is_success() => Ok(response.json().await?),
            _ => Err(CallError::Refused(Box::new(Problem::read(response).await?))),
        }
    }

    fn document_url(&self, app: &str, path: &str) -> String {
        format!("{}/api/documents/{app}/{path}", self.url)
    }
}
