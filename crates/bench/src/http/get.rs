use anyhow::{Result, ensure};
use async_trait::async_trait;
use bytes::Bytes;

use super::Client;
use super::client::request;
use crate::measure::Read;

/// Gets some paths, one after the other.
#[derive(Debug)]
pub(crate) struct Get {
    pub(crate) client: Client,
    pub(crate) paths: Vec<String>,
}

impl Get {
    /// Returns the total size of the responses in bytes.
    pub(crate) async fn answer_bytes(&self) -> Result<usize> {
        let mut bytes = 0;
        for path in &self.paths {
            bytes += self.client.send(request("GET", path, Bytes::new())?).await?.len();
        }
        Ok(bytes)
    }
}

#[async_trait]
impl Read for Get {
    async fn read(&self) -> Result<()> {
        ensure!(self.answer_bytes().await? > 0, "the answers are empty");
        Ok(())
    }
}
