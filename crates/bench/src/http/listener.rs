use std::net::SocketAddr;

use anyhow::{Context as _, Result, bail, ensure};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use super::Client;
use super::client::request;

/// A subscriber that follows a chat from its beginning, over its own connection, and checks that every
/// message arrives once and in order.
#[derive(Debug)]
pub(crate) struct Listener {
    body: Incoming,
    /// The received part of a line.
    line: Vec<u8>,
    /// Received bytes that are not processed yet.
    rest: Bytes,
    story: Story,
}

/// The state of a subscriber after the events so far.
#[derive(Debug, Default)]
struct Story {
    /// The event that has begun, if the subscriber reports this kind.
    begun: Option<Told>,
    /// The expected sequence of the next message.
    next: u64,
}

/// An event that a subscriber reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    Message,
    /// Chunks of a stream.
    Chunks,
    CaughtUp,
}

impl Listener {
    pub(crate) async fn open(address: SocketAddr, path: &str) -> Result<Self> {
        let request = request("GET", path, Bytes::new())?;
        let body = Client::connect(address).await?.open(request).await?;
        Ok(Self { body, line: Vec::new(), rest: Bytes::new(), story: Story::default() })
    }

    /// Waits for the next message, or for the end of the stored messages.
    pub(crate) async fn next(&mut self) -> Result<Told> {
        loop {
            while let Some(end) = self.rest.iter().position(|byte| *byte == b'\n') {
                self.line.extend_from_slice(&self.rest.split_to(end));
                self.rest = self.rest.slice(1..);
                let told = self.story.take(std::str::from_utf8(&self.line)?)?;
                self.line.clear();
                if let Some(told) = told {
                    return Ok(told);
                }
            }
            self.line.extend_from_slice(&self.rest);
            let frame = self.body.frame().await.context("the stream has ended")??;
            self.rest = frame.into_data().unwrap_or_default();
        }
    }

    /// Waits for the end of the stored messages; returns their number.
    pub(crate) async fn catch_up(&mut self) -> Result<u64> {
        while self.next().await? == Told::Message {}
        Ok(self.story.next)
    }
}

impl Story {
    /// Processes a line; the last line of an event is empty.
    fn take(&mut self, line: &str) -> Result<Option<Told>> {
        match line.split_once(": ") {
            Some(("event", "message")) => self.begun = Some(Told::Message),
            Some(("event", "stream-chunk")) => self.begun = Some(Told::Chunks),
            Some(("event", "caught-up")) => self.begun = Some(Told::CaughtUp),
            Some(("id", id)) if self.begun == Some(Told::Message) => {
                let sequence: u64 = id.parse()?;
                ensure!(sequence == self.next, "message {sequence} came instead of {}", self.next);
                self.next += 1;
            }
            Some(("retry", _)) => bail!("the service is stopping"),
            None if line.is_empty() => return Ok(self.begun.take()),
            _ => {}
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_and_what_comes_again_is_noticed() {
        let tell = |story: &mut Story, sequence: u64| {
            assert!(story.take("event: message").is_ok_and(|told| told.is_none()));
            story.take(&format!("id: {sequence}")).and_then(|_| story.take(""))
        };
        for fault in [0, 2] {
            let mut story = Story::default();
            assert!(tell(&mut story, 0).is_ok_and(|told| told == Some(Told::Message)));
            assert!(tell(&mut story, fault).is_err());
        }
    }
}
