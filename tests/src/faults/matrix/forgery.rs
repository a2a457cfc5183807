//! A proxy between the clients and the service that forges appends.

use std::collections::HashSet;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::{Context as _, Result};
use async_trait::async_trait;
use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, Method, StatusCode, Uri};
use axum::response::{IntoResponse as _, Response};
use reqwest::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::upstream::{Broken, Upstream, stand_before};
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Scene};
use crate::waiting::until;

/// The forgery of an append.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forgery {
    /// It is acknowledged and not stored.
    Lose,
    /// It is stored again, under other ids.
    Double,
    /// It is acknowledged with other sequences.
    Misplace,
    /// It is stored and reported as refused.
    Deny,
}

/// More than other clients can append meanwhile.
const FAR_BEHIND: u64 = 1_000;

/// A proxy that forges the next append on request.
#[derive(Debug)]
pub(super) struct Forger {
    forgery: Forgery,
    victims: Arc<Mutex<Victims>>,
}

/// The appends to forge: new ones, because an append that is already stored can no longer be lost, and
/// all their repeats.
#[derive(Debug, Default)]
struct Victims {
    seen: HashSet<String>,
    forged: HashSet<String>,
    /// Whether to forge the next new append.
    is_armed: bool,
}

impl Victims {
    fn choose(&mut self, event_id: &str) -> bool {
        let is_new = self.seen.insert(event_id.to_owned());
        if is_new && mem::take(&mut self.is_armed) {
            self.forged.insert(event_id.to_owned());
        }
        self.forged.contains(event_id)
    }
}

fn lock(victims: &Mutex<Victims>) -> MutexGuard<'_, Victims> {
    victims.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Forger {
    pub(super) fn new(forgery: Forgery) -> Self {
        Self { forgery, victims: Arc::default() }
    }
}

#[async_trait(?Send)]
impl Fault for Forger {
    async fn prepare(&mut self, cluster: &mut Cluster) -> Result<()> {
        for host in cluster.hosts() {
            let (forgery, victims) = (self.forgery, self.victims.clone());
            let proxy = Proxy { upstream: Upstream::of(host)?, forgery, victims };
            stand_before(host, Router::new().fallback(pass).with_state(Arc::new(proxy))).await?;
        }
        Ok(())
    }

    async fn strike(&mut self, _cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        scene.workload.progress().more_acknowledged(20).await?;
        let t0 = scene.now();
        lock(&self.victims).is_armed = true;
        let is_done = async || Ok((!lock(&self.victims).is_armed).then_some(()));
        until("an append to forge", is_done).await?;
        scene.struck("append forged", (t0, scene.now()), 1)
    }
}

struct Proxy {
    upstream: Upstream,
    forgery: Forgery,
    victims: Arc<Mutex<Victims>>,
}

/// Passes a request on, unless it is the append to forge.
async fn pass(
    State(proxy): State<Arc<Proxy>>,
    method: Method,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Broken> {
    let is_append = method == Method::POST && uri.path().ends_with("/messages");
    if is_append {
        let append: Value = serde_json::from_slice(&body).map_err(anyhow::Error::from)?;
        let event_id = append["messages"][0]["event_id"].as_str().unwrap_or_default();
        let is_victim = lock(&proxy.victims).choose(event_id);
        if is_victim {
            return Ok(proxy.forge(&uri, body, append).await?);
        }
    }
    Ok(proxy.upstream.pass(method, &uri, &headers, body).await?)
}

impl Proxy {
    /// Appends as requested.
    async fn append(&self, uri: &Uri, body: Bytes) -> Result<Response> {
        self.upstream.pass(Method::POST, uri, &HeaderMap::new(), body).await
    }

    async fn forge(&self, uri: &Uri, body: Bytes, mut append: Value) -> Result<Response> {
        match self.forgery {
            Forgery::Lose => self.acknowledge(uri, &append, 0).await,
            Forgery::Misplace => {
                let answer = self.acknowledge(uri, &append, FAR_BEHIND).await;
                self.append(uri, body).await?;
                answer
            }
            Forgery::Deny => {
                self.append(uri, body).await?;
                let problem = json!({ "type": "chat-ended", "status": 409, "detail": "" });
                Ok((StatusCode::CONFLICT, problem.to_string()).into_response())
            }
            Forgery::Double => {
                let answer = self.append(uri, body).await;
                for message in append["messages"].as_array_mut().context("not an append")? {
                    let event_id = message["event_id"].as_str().context("no id")?.to_owned();
                    message["event_id"] = json!(format!("{event_id}-again"));
                }
                self.append(uri, append.to_string().into()).await?;
                answer
            }
        }
    }

    /// Responds as if the messages had been stored some positions past the end of the chat.
    async fn acknowledge(&self, uri: &Uri, append: &Value, behind: u64) -> Result<Response> {
        let path = uri.path().trim_end_matches("/messages");
        let meta: Value = self.upstream.get(&format!("{path}/meta")).await?.json().await?;
        let first = meta["last_sequence"].as_u64().context("no counter")? + behind;
        let messages = append["messages"].as_array().context("not an append")?;
        let placed = (first..).zip(messages).map(|(sequence, message)| {
            json!({ "event_id": message["event_id"], "sequence": sequence, "duplicate": false })
        });
        let answer = json!({
            "chat_id": meta["chat_id"],
            "last_sequence": first + messages.len() as u64,
            "messages": placed.collect::<Vec<_>>(),
        });
        let json = [(CONTENT_TYPE, "application/json")];
        Ok((StatusCode::CREATED, json, answer.to_string()).into_response())
    }
}
