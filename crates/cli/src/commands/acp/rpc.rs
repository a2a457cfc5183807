//! JSON-RPC 2.0, one message a line.

use std::io;

use persistence::StoreError;
use records::IdError;
use serde_json::{Value, json};
use tokio::io::{AsyncWrite, AsyncWriteExt as _};

use super::lenient;

/// The version of the protocol.
pub(super) const PROTOCOL_VERSION: u32 = 1;

/// The error of a request.
#[derive(Debug)]
pub(super) struct RpcError {
    code: i32,
    message: String,
}

impl RpcError {
    const PARSE: i32 = -32_700;
    const INVALID_REQUEST: i32 = -32_600;
    const METHOD_NOT_FOUND: i32 = -32_601;
    const INVALID_PARAMS: i32 = -32_602;
    const INTERNAL: i32 = -32_603;
    const RESOURCE_NOT_FOUND: i32 = -32_002;

    fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    pub(super) fn invalid_request(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_REQUEST, message)
    }

    pub(super) fn unknown_method(method: &str) -> Self {
        Self::new(Self::METHOD_NOT_FOUND, format!("no method {method}"))
    }

    pub(super) fn invalid_params(message: impl Into<String>) -> Self {
        Self::new(Self::INVALID_PARAMS, message)
    }

    pub(super) fn internal(message: impl Into<String>) -> Self {
        Self::new(Self::INTERNAL, message)
    }

    pub(super) fn session_not_found(session_id: &str) -> Self {
        Self::new(Self::RESOURCE_NOT_FOUND, format!("session {session_id} not found"))
    }

    fn to_json(&self) -> Value {
        json!({"code": self.code, "message": self.message})
    }
}

impl From<StoreError> for RpcError {
    fn from(error: StoreError) -> Self {
        match &error {
            StoreError::ChatNotFound(chat_id) => Self::session_not_found(chat_id.as_str()),
            StoreError::Invalid(_) => Self::invalid_params(error.to_string()),
            _ => {
                let told = error.to_string();
                let cause = anyhow::Error::from(error);
                tracing::error!(cause = format!("{cause:#}"), "the store failed");
                Self::internal(told)
            }
        }
    }
}

impl From<IdError> for RpcError {
    fn from(error: IdError) -> Self {
        Self::invalid_params(error.to_string())
    }
}

/// A message that was read.
#[derive(Debug)]
pub(super) struct Incoming(pub(super) Value);

impl Incoming {
    /// Parses a line; what cannot be stored in it is replaced.
    pub(super) fn parse(line: &[u8]) -> Result<Self, RpcError> {
        let value = lenient::parse(line)
            .map_err(|error| RpcError::new(RpcError::PARSE, error.to_string()))?;
        if value.is_object() {
            Ok(Self(value))
        } else {
            Err(RpcError::invalid_request("the message is no object"))
        }
    }

    /// Returns the id of a request or of a response.
    pub(super) fn id(&self) -> Option<&Value> {
        self.0.get("id").filter(|id| !id.is_null())
    }

    /// Returns the method of a request or of a notification.
    pub(super) fn method(&self) -> Option<&str> {
        self.0.get("method")?.as_str()
    }

    pub(super) fn params(&self) -> &Value {
        &self.0["params"]
    }

    /// Returns the session that it is about.
    pub(super) fn session_id(&self) -> Option<&str> {
        self.params()["sessionId"].as_str()
    }

    /// Returns the same message about another session.
    pub(super) fn about(mut self, session_id: &str) -> Value {
        self.0["params"]["sessionId"] = session_id.into();
        self.0
    }
}

/// Where messages are sent.
#[derive(Debug)]
pub(super) struct Peer<W>(W);

impl<W: AsyncWrite + Unpin> Peer<W> {
    pub(super) fn new(writer: W) -> Self {
        Self(writer)
    }

    /// Sends a line as it is.
    pub(super) async fn forward(&mut self, line: &[u8]) -> io::Result<()> {
        self.0.write_all(line).await?;
        self.0.write_all(b"\n").await?;
        self.0.flush().await
    }

    pub(super) async fn send(&mut self, message: &Value) -> io::Result<()> {
        self.forward(message.to_string().as_bytes()).await
    }

    pub(super) async fn request(
        &mut self,
        id: &str,
        method: &str,
        params: Value,
    ) -> io::Result<()> {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.send(&request).await
    }

    pub(super) async fn answer(
        &mut self,
        id: &Value,
        outcome: Result<Value, RpcError>,
    ) -> io::Result<()> {
        let response = match outcome {
            Ok(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Err(error) => json!({"jsonrpc": "2.0", "id": id, "error": error.to_json()}),
        };
        self.send(&response).await
    }

    /// Sends an update of a session, which is JSON already.
    pub(super) async fn update(&mut self, session_id: &str, update: &str) -> io::Result<()> {
        let session_id = Value::from(session_id);
        let line = format!(
            r#"{{"jsonrpc":"2.0","method":"session/update","params":{{"sessionId":{session_id},"update":{update}}}}}"#
        );
        self.forward(line.as_bytes()).await
    }
}
