//! A proxy between the subscribers and the service that forges events.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use async_trait::async_trait;
use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::http::{HeaderMap, Method, Uri};
use axum::response::{IntoResponse as _, Response};
use futures::TryStreamExt as _;

use super::upstream::{Broken, Upstream, chunks, head, stand_before};
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// The forgery of a message event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EventForgery {
    /// The event is left out.
    Lose,
    /// The event is sent twice.
    Double,
    /// The event is sent after the one that follows it.
    Swap,
}

/// A proxy that forges the next event on request.
#[derive(Debug)]
pub(super) struct EventForger {
    forgery: EventForgery,
    progress: Arc<Progress>,
}

#[derive(Debug, Default)]
struct Progress {
    /// The next event is to be forged.
    is_armed: AtomicBool,
    /// A subscriber was sent what it can find.
    is_done: AtomicBool,
}

impl EventForger {
    pub(super) fn new(forgery: EventForgery) -> Self {
        Self { forgery, progress: Arc::default() }
    }
}

#[async_trait(?Send)]
impl Fault for EventForger {
    async fn prepare(&mut self, cluster: &mut Cluster) -> Result<()> {
        for host in cluster.hosts() {
            let (forgery, progress) = (self.forgery, Arc::clone(&self.progress));
            let proxy = Proxy { upstream: Upstream::of(host)?, forgery, progress };
            stand_before(host, Router::new().fallback(pass).with_state(Arc::new(proxy))).await?;
        }
        Ok(())
    }

    async fn strike(&mut self, _cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        scene.workload.progress().more_acknowledged(20).await?;
        let t0 = scene.now();
        self.progress.is_done.store(false, Ordering::Release);
        self.progress.is_armed.store(true, Ordering::Release);
        let is_done = async || Ok(self.progress.is_done.load(Ordering::Acquire).then_some(()));
        until("a forged event and the next one", is_done).await?;
        scene.struck("event forged", (t0, scene.now()), 1)
    }
}

struct Proxy {
    upstream: Upstream,
    forgery: EventForgery,
    progress: Arc<Progress>,
}

/// Passes a request on, and its events one by one.
async fn pass(
    State(proxy): State<Arc<Proxy>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Broken> {
    if !uri.path().ends_with("/events") {
        return Ok(proxy.upstream.pass(method, &uri, &headers, body).await?);
    }
    let answer = proxy.upstream.send(method, &uri, &headers, body).await?;
    let (status, headers) = head(&answer);
    let mut forging = Forging { proxy, text: Vec::new(), withheld: None };
    let events = chunks(answer).map_ok(move |chunk| forging.take(&chunk));
    Ok((status, headers, Body::from_stream(events)).into_response())
}

/// One stream that is passed on.
struct Forging {
    proxy: Arc<Proxy>,
    /// The received part of an incomplete event.
    text: Vec<u8>,
    /// What is sent after the next event: empty if an event was left out.
    withheld: Option<Vec<u8>>,
}

impl Drop for Forging {
    /// A subscriber that leaves before the next event comes back with the id of the last one it was sent, and
    /// misses nothing: another one is deceived.
    fn drop(&mut self) {
        if self.withheld.is_some() {
            self.proxy.progress.is_armed.store(true, Ordering::Release);
        }
    }
}

const END: &[u8] = b"\n\n";

impl Forging {
    /// Takes received bytes, and returns the complete events, forged or not.
    fn take(&mut self, chunk: &[u8]) -> Vec<u8> {
        self.text.extend_from_slice(chunk);
        let mut out = Vec::new();
        while let Some(end) = self.text.windows(END.len()).position(|window| window == END) {
            let rest = self.text.split_off(end + END.len());
            let block = std::mem::replace(&mut self.text, rest);
            out.extend(self.forged(block).concat());
        }
        out
    }

    fn forged(&mut self, block: Vec<u8>) -> Vec<Vec<u8>> {
        if !block.starts_with(b"event: message\n") {
            return vec![block];
        }
        let progress = &self.proxy.progress;
        if let Some(withheld) = self.withheld.take() {
            progress.is_done.store(true, Ordering::Release);
            return vec![block, withheld];
        }
        if !progress.is_armed.swap(false, Ordering::AcqRel) {
            return vec![block];
        }
        match self.proxy.forgery {
            EventForgery::Lose => self.withheld = Some(Vec::new()),
            EventForgery::Swap => self.withheld = Some(block),
            EventForgery::Double => {
                progress.is_done.store(true, Ordering::Release);
                return vec![block.clone(), block];
            }
        }
        Vec::new()
    }
}
