//! Every kind of `POST` is sent to a service that is killed meanwhile, and then twice to another one: by the id in its
//! body, and by `Idempotency-Key`.

use anyhow::{Context as _, Result, ensure};
use futures::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use tests::client::{APP, Client};
use tests::database::Database;
use tests::service::Service;
use tests::settings::Settings;
use tokio::sync::watch;

const ROUNDS: u64 = 10;

/// A `POST`, and the field of its body that makes it safe to repeat.
struct Post {
    path: String,
    body: Value,
    id: Option<&'static str>,
    /// The id, or the key.
    name: String,
    by_key: bool,
}

impl Post {
    /// Every kind, each for a chat of its own.
    fn all(round: u64, by_key: bool) -> Vec<Self> {
        let said = json!({ "role": "user", "name": "user", "content": "x" });
        let step = json!({ "type": "llm", "stack_id": "s", "status": "failed" });
        let kinds = [
            ("", json!({ "workflow_name": "W" }), Some("chat_id")),
            ("/fork", json!({ "title": "other" }), Some("chat_id")),
            ("/messages", said.clone(), Some("event_id")),
            ("/initial-messages", said.clone(), Some("event_id")),
            ("/calls", json!({ "agent": "a", "prompt_tokens": 3 }), Some("call_id")),
            ("/input-requests", json!({ "prompt": "Why?" }), Some("request_id")),
            ("/input-requests/asked/answer", json!({ "content": "so" }), Some("event_id")),
            ("/turns", json!({ "outcome": "failed", "steps": [step] }), Some("request_id")),
            ("/lease", json!({ "owner": "w" }), Some("lease_id")),
            ("/participants", json!({ "user_id": "bob" }), None),
            ("/pause", json!({ "reason": "later" }), None),
            ("/complete", json!({ "context_snapshot": { "a": 1 } }), None),
            ("wallet/credit", json!({ "amount": 5 }), Some("entry_id")),
            ("wallet/debit", json!({ "amount": 5 }), Some("entry_id")),
            ("wallet/ensure", json!({ "initial_balance": 9 }), None),
        ];
        let post = |(number, (what, body, id)): (usize, (&str, Value, Option<&'static str>))| {
            let name = format!("{round}-{number}-{by_key}");
            let path = match what.strip_prefix("wallet") {
                Some(below) => format!("/api/wallets/{APP}/{name}{below}"),
                None if what.is_empty() => format!("/api/chats/{APP}"),
                None => format!("/api/chats/{APP}/chat-{name}{what}"),
            };
            Self { path, body, id, name, by_key }
        };
        kinds.into_iter().enumerate().map(post).collect()
    }

    /// Creates what the `POST` is about.
    async fn prepare(&self, client: &Client) -> Result<()> {
        if let Some(wallet) = self.path.strip_suffix("/credit").or(self.path.strip_suffix("/debit"))
        {
            let balance = json!({ "initial_balance": 100 });
            client.call(Method::POST, &format!("{wallet}/ensure"), Some(&balance)).await?;
        } else if self.path.contains("/chat-") {
            let path = format!("/api/chats/{APP}/chat-{}", self.name);
            let new = json!({ "workflow_name": "W" });
            client.call(Method::PUT, &path, Some(&new)).await?;
            if self.path.ends_with("/answer") {
                let asked = json!({ "request_id": "asked", "prompt": "Why?" });
                let path = format!("{path}/input-requests");
                client.call(Method::POST, &path, Some(&asked)).await?;
            }
        }
        Ok(())
    }

    async fn send(&self, client: &Client) -> Result<Value> {
        let mut body = self.body.clone();
        let keyed = client.with_header("idempotency-key", &self.name)?;
        match self.id {
            Some(id) if !self.by_key => {
                body[id] = json!(self.name);
                Ok(client.call(Method::POST, &self.path, Some(&body)).await?)
            }
            _ => Ok(keyed.call(Method::POST, &self.path, Some(&body)).await?),
        }
    }
}

/// Removes what says whether something was stored before; returns whether all of it was.
fn strip(value: &mut Value) -> bool {
    let mut is_repeat = true;
    match value {
        Value::Object(fields) => {
            is_repeat &= fields.remove("duplicate") != Some(Value::Bool(false));
            fields.values_mut().for_each(|field| is_repeat &= strip(field));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| is_repeat &= strip(item)),
        _ => {}
    }
    is_repeat
}

#[tokio::test]
async fn every_post_is_repeated_at_another_service_when_one_is_killed() -> Result<()> {
    let database = Database::create().await?;
    let settings = Settings::of(&database);
    let survivor = Service::start(&settings).await?;
    let client = survivor.client()?;
    let mut acknowledged = 0;
    for round in 0..ROUNDS {
        let posts: Vec<_> =
            [true, false].into_iter().flat_map(|by_key| Post::all(round, by_key)).collect();
        for post in &posts {
            post.prepare(&client).await.with_context(|| post.path.clone())?;
        }
        let killed = Service::start(&settings).await?;
        let of_killed = killed.client()?;
        let (answered, mut answers) = watch::channel(0);
        let killing = async {
            answers.wait_for(|count| *count >= 2 * round).await?;
            killed.kill().await
        };
        let sending = join_all(posts.iter().map(async |post| {
            let answer = post.send(&of_killed).await;
            answered.send_modify(|count| *count += 1);
            answer
        }));
        let (first, killing) = tokio::join!(sending, killing);
        killing?;
        for (post, first) in posts.iter().zip(first) {
            let mut again = post.send(&client).await.with_context(|| post.path.clone())?;
            let was_stored = strip(&mut again);
            let mut last = post.send(&client).await.with_context(|| post.path.clone())?;
            ensure!(strip(&mut last), "{}: {last} is no repeat", post.path);
            ensure!(again == last, "{}: {again} became {last}", post.path);
            if let Ok(mut first) = first {
                acknowledged += 1;
                strip(&mut first);
                ensure!(was_stored && first == again, "{}: {first} became {again}", post.path);
            }
        }
    }
    let sent = ROUNDS * 30;
    ensure!((1..sent).contains(&acknowledged), "{acknowledged} of {sent} were acknowledged");
    survivor.stop().await
}
