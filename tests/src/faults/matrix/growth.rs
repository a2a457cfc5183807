use anyhow::{Result, ensure};
use async_trait::async_trait;
use reqwest::Method;
use serde_json::{Value, json};

use crate::client::{APP, Chat, Client};
use crate::faults::checker::{Finding, Kind};
use crate::faults::cluster::Cluster;
use crate::faults::fault::{Fault, Force, Scene};
use crate::faults::history::{Operation, Recorder};
use crate::faults::workload::outcome;
use crate::waiting::until;

/// A chat grows far beyond the size of one document, and every limit is exceeded once.
#[derive(Debug, Default)]
pub(super) struct Growth {
    chat_id: Option<String>,
    strikes: u32,
}

/// More than fits into one document.
const LARGE_MESSAGES: usize = 300;
const LARGE: usize = 64 << 10;
/// More than fits into a request.
const MEGABYTE: usize = 1 << 20;

#[async_trait(?Send)]
impl Fault for Growth {
    async fn prepare(&mut self, cluster: &mut Cluster) -> Result<()> {
        let chat = cluster.client().create_chat("Growth").await?;
        self.chat_id = Some(chat.id().to_owned());
        Ok(())
    }

    fn chats(&self) -> Vec<String> {
        self.chat_id.iter().cloned().collect()
    }

    async fn strike(&mut self, cluster: &mut Cluster, scene: &mut Scene<'_>) -> Result<()> {
        let client = cluster.client();
        let chat_id = self.chat_id.clone().unwrap_or_default();
        let t0 = scene.now();
        self.strikes += 1;
        let mut grower = scene.grower(self.strikes)?;
        let messages = if scene.force == Force::Brief { 2_000 } else { 10_000 };
        grower.grow(scene.workload, &chat_id, LARGE_MESSAGES, LARGE, 16).await?;
        grower.grow(scene.workload, &chat_id, messages, 100, 1_000).await?;
        grower.finish()?;
        let chat = client.chat(&chat_id);
        let exceeded = exceed(&client, &chat, &mut scene.recorder).await?;
        scene.struck("chat grown", (t0, scene.now()), exceeded)?;
        if let Err(wrong) = use_as_ever(&chat).await {
            let detail = format!("the chat cannot be used any more: {wrong:#}");
            scene.findings.push(Finding::in_chat(Kind::Fault, &chat_id, detail));
        }
        Ok(())
    }
}

/// Exceeds each limit once, and returns the number of limits.
async fn exceed(client: &Client, chat: &Chat, recorder: &mut Recorder) -> Result<u64> {
    let message = |bytes| json!({ "role": "user", "content": "x".repeat(bytes) });
    let several = |count, bytes| json!({ "messages": vec![message(bytes); count] });
    let snapshot = json!({ "text": "x".repeat(12 * MEGABYTE) });
    let artifact = json!({ "ui_tool_id": "editor", "payload": snapshot });
    let mut deep = json!(1);
    for _ in 0..100 {
        deep = json!([deep]);
    }
    let deep = json!({ "role": "user", "content": deep });
    let base = format!("/api/chats/{APP}");
    let below = |what: &str| format!("{base}/{}/{what}", chat.id());
    let chat_of = json!({ "workflow_name": "Growth", "metadata": { "text": "x".repeat(20_000) } });
    let requests: [(&str, Method, String, Value); 8] = [
        ("message-too-large", Method::POST, below("messages"), message(5 * MEGABYTE)),
        ("batch-too-large", Method::POST, below("messages"), several(3, 3 * MEGABYTE)),
        ("batch-too-large", Method::POST, below("messages"), several(1_001, 10)),
        ("body-too-large", Method::POST, below("messages"), message(17 * MEGABYTE)),
        ("context-too-large", Method::PUT, below("context"), snapshot),
        ("artifact-too-large", Method::PUT, below("artifact"), artifact),
        ("metadata-too-large", Method::POST, base.clone(), chat_of),
        ("invalid-request", Method::POST, below("messages"), deep),
    ];
    let kinds = requests.len() as u64;
    for (limit, method, path, body) in requests {
        // A service that refuses a body early closes the connection of a client that is still sending,
        // and the response may be lost.
        until("an answer to a request that is too large", async || {
            let t0 = recorder.now();
            let outcome = outcome(client.call(method.clone(), &path, Some(&body)).await).map(drop);
            if outcome.refusal().is_some_and(|refusal| refusal.code == "no-answer") {
                return Ok(None);
            }
            let exceed = Operation::Exceed { limit: limit.to_owned(), outcome };
            recorder.record(t0, exceed).map(Some)
        })
        .await?;
    }
    Ok(kinds)
}

/// Stores values of exactly the allowed size, reads everything, and completes and reopens the chat.
async fn use_as_ever(chat: &Chat) -> Result<()> {
    let large = json!({ "text": "x".repeat(7 * MEGABYTE) });
    chat.put("context", &large).await?;
    chat.put("artifact", &json!({ "ui_tool_id": "editor", "payload": large })).await?;
    let count = chat.messages().await?.len();
    let transcript = chat.history("ag2").await?.messages.len();
    ensure!(transcript == count, "{transcript} of {count} messages are in the transcript");
    let completed = chat.turn("complete").await?;
    ensure!(completed["status"] == "completed", "it became {}", completed["status"]);
    chat.turn("reopen").await?;
    chat.put("context", &json!({})).await?;
    Ok(())
}
