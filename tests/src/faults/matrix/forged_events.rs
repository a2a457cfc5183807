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
    is_armed: Arc<AtomicBool>,
}

impl EventForger {
    pub(super) fn new(forgery: EventForgery) -> Self {
        Self { forgery, is_armed: Arc::default() }
    }
}

#[async_trait(?Send)]
impl Fault for EventForger {
    async fn prepare(&mut self, cluster: &mut Cluster) -> Result<()> {
        for host in cluster.hosts() {
            let (forgery, is_armed) = (self.forgery, Arc::clone(&self.is_armed));
            let proxy = Proxy { upstream: Upstream::of(host)?, forgery, is_armed };
            stand_before(host, Router::new().fallback(pass).with_state(Arc::new(proxy))).await?;
        }
        Ok(())
    }

    async fn strike(&mut self, _cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        scene.workload.progress().more_acknowledged(20).await?;
        let t0 = scene.now();
        self.is_armed.store(true, Ordering::Release);
        let is_done = async || Ok((!self.is_armed.load(Ordering::Acquire)).then_some(()));
        until("an event to forge", is_done).await?;
        // There is an event after the withheld one.
        scene.workload.progress().more_acknowledged(50).await?;
        scene.struck("event forged", (t0, scene.now()), 1)
    }
}

struct Proxy {
    upstream: Upstream,
    forgery: EventForgery,
    is_armed: Arc<AtomicBool>,
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
    /// An event that is sent after the next one.
    withheld: Option<Vec<u8>>,
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
        if let Some(withheld) = self.withheld.take() {
            return vec![block, withheld];
        }
        if !self.proxy.is_armed.swap(false, Ordering::AcqRel) {
            return vec![block];
        }
        match self.proxy.forgery {
            EventForgery::Lose => Vec::new(),
            EventForgery::Double => vec![block.clone(), block],
            EventForgery::Swap => {
                self.withheld = Some(block);
                Vec::new()
            }
        }
    }
}
