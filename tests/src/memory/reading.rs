use std::iter::Sum;
use std::time::Duration;

use anyhow::{Result, ensure};
use reqwest::header::ACCEPT;
use serde_json::Value;
use tokio::time::{Instant, sleep_until};

use crate::client::{self, APP};
use crate::service::Service;
use crate::waiting::until;

/// A chat that is read without keeping the data.
#[derive(Debug)]
pub(super) struct Chat {
    http: reqwest::Client,
    url: String,
    writing: client::Chat,
}

/// The speed at which a response is accepted.
#[derive(Clone, Copy, Debug)]
pub(super) enum Pace {
    Full,
    BytesPerMillisecond(usize),
}

/// The amount of data read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Count {
    pub(super) bytes: usize,
    pub(super) messages: usize,
}

impl Sum for Count {
    fn sum<I: Iterator<Item = Self>>(counts: I) -> Self {
        counts.fold(Self::default(), |one, other| Self {
            bytes: one.bytes + other.bytes,
            messages: one.messages + other.messages,
        })
    }
}

pub(super) const JSON: &str = "application/json";
pub(super) const NDJSON: &str = "application/x-ndjson";

/// A key that every message has once, and that occurs nowhere else in these conversations.
const MARK: &[u8] = br#""role":"#;
const PAGE: usize = 1_000;

impl Chat {
    pub(super) fn of(service: &Service, chat_id: &str) -> Result<Self> {
        let http = reqwest::Client::builder().no_proxy().build()?;
        let url = format!("{}/api/chats/{APP}/{chat_id}", service.url());
        Ok(Self { http, url, writing: service.client()?.chat(chat_id) })
    }

    /// Appends messages, with retries: they have ids.
    pub(super) async fn append(&self, messages: &[Value]) -> Result<()> {
        let append = until("an append", async || match self.writing.append(messages).await {
            Ok(append) => Ok(Some(append)),
            Err(error) if error.may_pass() => Ok(None),
            Err(error) => Err(error.into()),
        });
        let append = append.await?;
        ensure!(append.messages.len() == messages.len(), "a message was skipped");
        Ok(())
    }

    /// Reads all messages in pages, which must have the given number.
    pub(super) async fn pages(&self, expected: usize) -> Result<Count> {
        let mut total = Count::default();
        while total.messages < expected {
            // The sequences are dense, so the next page begins at the number of messages read.
            let after = i64::try_from(total.messages)? - 1;
            let path = format!("messages?after={after}&limit={PAGE}");
            let page = self.read(&path, JSON, Pace::Full).await?;
            ensure!(page.messages > 0, "a page is empty");
            total = [total, page].into_iter().sum();
        }
        Ok(total)
    }

    /// Reads the history, which must have the given number of messages.
    pub(super) async fn history(
        &self,
        query: &str,
        media_type: &str,
        pace: Pace,
        expected: usize,
    ) -> Result<Count> {
        let count = self.read(&format!("history?{query}"), media_type, pace).await?;
        ensure!(count.messages == expected, "{} of {expected} messages", count.messages);
        Ok(count)
    }

    async fn read(&self, path: &str, media_type: &str, pace: Pace) -> Result<Count> {
        let request = self.http.get(format!("{}/{path}", self.url)).header(ACCEPT, media_type);
        let mut response = request.send().await?.error_for_status()?;
        let started = Instant::now();
        let mut count = Count::default();
        let mut seam = Vec::new();
        while let Some(chunk) = response.chunk().await? {
            count.bytes += chunk.len();
            // The key may begin in one chunk and end in the next.
            seam.extend_from_slice(&chunk);
            count.messages += seam.windows(MARK.len()).filter(|bytes| *bytes == MARK).count();
            seam.drain(..seam.len().saturating_sub(MARK.len() - 1));
            if let Pace::BytesPerMillisecond(rate) = pace {
                let due = Duration::from_millis((count.bytes / rate) as u64);
                sleep_until(started + due).await;
            }
        }
        Ok(count)
    }
}
