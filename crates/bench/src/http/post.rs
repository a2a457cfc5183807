use std::sync::Arc;

use anyhow::Result;
use async_trait::async_trait;
use bytes::Bytes;
use http_body_util::Full;
use hyper::Request;
use serde_json::json;

use super::Client;
use super::client::request;
use crate::measure::Write;
use crate::messages::Message;

/// Posts one message at a time.
#[derive(Debug)]
pub(crate) struct Post {
    pub(crate) client: Arc<Client>,
    pub(crate) path: String,
}

#[async_trait]
impl Write for Post {
    type Input = Request<Full<Bytes>>;

    fn prepare(&self, _writer: usize, messages: &[Message]) -> Result<Self::Input> {
        let Message { event_id, role, name, content, timestamp } = &messages[0];
        let body = json!({
            "event_id": event_id, "role": role, "name": name, "content": content,
            "timestamp": timestamp,
        });
        request("POST", &self.path, body.to_string().into())
    }

    async fn write(&self, request: Self::Input) -> Result<()> {
        self.client.send(request).await?;
        Ok(())
    }
}
