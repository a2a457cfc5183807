use std::time::Duration;

use anyhow::Result;
use async_trait::async_trait;
use fastrand::Rng;
use mongodb::bson::doc;
use reqwest::Method;
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::step_down::StepDown;
use crate::client::Client;
use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::{Cluster, command};
use crate::faults::fault::{Fault, Scene};

/// Cancels calls that run transactions, while the primary steps down.
///
/// Other clients append to the same chats. A transaction that stays open would block their appends.
pub(super) struct CancelCallers;

/// The number of concurrent callers.
const CALLERS: u64 = 6;

/// How long a caller waits before it disconnects, in microseconds. Most calls take longer.
const PATIENCE_US: std::ops::Range<u64> = 300..5_000;

/// How long a transaction may stay open after the last caller has disconnected.
const MAX_OPEN: Duration = Duration::from_secs(2);

#[async_trait(?Send)]
impl Fault for CancelCallers {
    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let t0 = scene.now();
        let (is_over, ending) = watch::channel(false);
        let mut callers = JoinSet::new();
        for number in 0..CALLERS {
            let (services, rng) = (cluster.reached(), scene.rng.fork());
            let chats = scene.workload.chats().to_vec();
            callers.spawn(call_and_leave(number, services, chats, rng, ending.clone()));
        }
        let stepped_down = StepDown.strike(cluster, scene).await;
        is_over.send_replace(true);
        let cancelled = callers.join_all().await.into_iter().sum();
        stepped_down?;
        scene.struck("callers cancelled", (t0, scene.now()), cancelled)?;
        if let Some(open) = left_open(cluster).await? {
            let detail = format!("{open} transactions are open {MAX_OPEN:?} after the last caller");
            scene.findings.push(Finding::of(Kind::Fault, detail));
        }
        Ok(())
    }
}

/// Calls services repeatedly and disconnects early. Returns how often it disconnected before the answer.
async fn call_and_leave(
    number: u64,
    services: Vec<watch::Receiver<Client>>,
    chats: Vec<String>,
    mut rng: Rng,
    is_over: watch::Receiver<bool>,
) -> u64 {
    let mut cancelled = 0;
    let mut recorded = 0;
    while !*is_over.borrow() {
        let client = services[rng.usize(..services.len())].borrow().clone();
        let chat = client.chat(&chats[rng.usize(..chats.len())]);
        let patience = Duration::from_micros(rng.u64(PATIENCE_US));
        let called = match rng.u8(..4) {
            0 => timeout(patience, chat.turn("pause")).await,
            1 => timeout(patience, chat.turn("reopen")).await,
            2 => {
                recorded += 1;
                let call =
                    json!({ "call_id": format!("call_{number}_{recorded}"), "agent": "planner" });
                timeout(patience, chat.post("calls", &call)).await
            }
            _ => {
                let path = format!("calls/call_{number}_{recorded}");
                timeout(patience, chat.send(Method::DELETE, &path, None)).await
            }
        };
        // This fault only counts cancelled calls, so it ignores answers that arrive in time.
        cancelled += u64::from(called.is_err());
        sleep(Duration::from_millis(rng.u64(1..20))).await;
    }
    cancelled
}

/// Returns the number of transactions that the primary still has open after [`MAX_OPEN`]. Returns `None` as soon
/// as it has none.
async fn left_open(cluster: &Cluster) -> Result<Option<i64>> {
    let begun = Instant::now();
    loop {
        let status = command(cluster.primary().await?, doc! { "serverStatus": 1 }).await?;
        let open = status.get_document("transactions")?.get_i64("currentOpen")?;
        if open == 0 {
            return Ok(None);
        }
        if begun.elapsed() > MAX_OPEN {
            return Ok(Some(open));
        }
        sleep(Duration::from_millis(10)).await;
    }
}
