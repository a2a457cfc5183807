//! The route of the search, and the task that keeps the index up to date.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use futures::stream::BoxStream;
use persistence::StoreError;
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use records::Message;
use serde_json::{Value, json};
use service::{Config, SearchConfig, router_and_upkeep};
use tokio::time::{sleep, timeout};

use crate::harness::{Client, memory};
use crate::tokens::{client, hs256, token};

const SEARCH: &str = "/api/search/acme_corp";

async fn found(caller: &Client, query: &str) -> Vec<Value> {
    let answer = caller.get(&format!("{SEARCH}?{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.body()["data"].as_array().unwrap().clone()
}

#[tokio::test]
async fn messages_are_found_with_the_part_that_has_the_words() {
    let client = Client::open();
    let chat = json!({"chat_id": "c1", "workflow_name": "Generator", "title": "Bills"});
    assert_eq!(client.post("/api/chats/acme_corp", chat).await.status, 201);
    let said = json!({"role": "assistant", "name": "planner", "content": "The Invoice\nof June"});
    let path = "/api/chats/acme_corp/c1/messages";
    assert_eq!(client.post(path, said).await.status, 201);
    let answer = client.get(&format!("{SEARCH}?q=invoice%20jun*")).await.body();
    let created_at = client.get(&format!("{path}/0")).await.body()["created_at"].clone();
    let hit = json!({
        "chat_id": "c1", "title": "Bills", "sequence": 0, "role": "assistant", "name": "planner",
        "created_at": created_at, "snippet": "The Invoice of June", "positions": [[4, 11], [15, 19]],
    });
    assert_eq!(answer["data"], json!([hit]));
    assert_eq!((&answer["next_cursor"], &answer["partial"]), (&Value::Null, &json!(false)));
    assert!(answer["behind_ms"].is_u64(), "{answer}");
    for query in ["q=order", "q=invoice&workflow_name=Other", "q=invoice&scope=app"] {
        assert_eq!(found(&client, query).await, Vec::<Value>::new(), "{query}");
    }
    assert_eq!(found(&client, "q=invoice&chat_id=c1").await.len(), 1);
}

#[tokio::test]
async fn hits_come_in_pages() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    for n in 0..5 {
        let said = json!({"role": "user", "content": format!("needle {n}")});
        assert_eq!(client.post(&format!("{chat}/messages"), said).await.status, 201);
    }
    let (mut sequences, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = client.get(&format!("{SEARCH}?q=needle&limit=2{cursor}")).await.body();
        let hits = page["data"].as_array().unwrap();
        sequences.extend(hits.iter().map(|hit| hit["sequence"].as_u64().unwrap()));
        let Some(next) = page["next_cursor"].as_str() else { break };
        cursor = format!("&cursor={next}");
    }
    assert_eq!(sequences, [4, 3, 2, 1, 0]);
}

#[tokio::test]
async fn a_query_that_is_not_acceptable_is_refused_by_name() {
    let client = Client::open();
    for (query, culprit) in [
        ("", "q"),
        ("q=", "q"),
        ("q=a*", "q"),
        ("q=a%20b%20c%20d%20e%20f%20g%20h%20i", "q"),
        ("q=needle&cursor=x", "cursor"),
        ("q=needle&scope=all", "scope"),
        ("q=needle&words=more", "words"),
    ] {
        let refused = client.get(&format!("{SEARCH}?{query}")).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{query}");
        assert_eq!(refused.culprit(), culprit, "{query}");
    }
    client.create_chat("c1").await;
    let both = client.get(&format!("{SEARCH}?q=needle&chat_id=c1&scope=app")).await;
    assert_eq!(both.culprit(), "chat_id");
    let unknown = client.get(&format!("{SEARCH}?q=needle&chat_id=c9")).await;
    assert_eq!(unknown.problem(), (404, "chat-not-found".to_owned()));
}

#[tokio::test]
async fn a_user_finds_nothing_once_a_right_is_withdrawn() {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"sub": "orchestrator", "role": "service"})));
    let [alice, bob] = ["alice", "bob"].map(|sub| client.with_token(token(&json!({"sub": sub}))));
    let chat = json!({"chat_id": "c1", "workflow_name": "Generator", "user_id": "alice"});
    assert_eq!(service.post("/api/chats/acme_corp", chat).await.status, 201);
    let path = "/api/chats/acme_corp/c1";
    let said = json!({"role": "user", "content": "needle"});
    assert_eq!(alice.post(&format!("{path}/messages"), said).await.status, 201);
    let member = || json!({"role": "reader"}).to_string();
    let member_path = format!("{path}/members/bob");
    for (caller, count) in [(&service, 1), (&alice, 1), (&bob, 0)] {
        assert_eq!(found(caller, "q=needle").await.len(), count);
    }
    assert_eq!(service.json("PUT", &member_path, member()).await.status, 201);
    assert_eq!(found(&bob, "q=needle").await.len(), 1);
    assert_eq!(service.json("DELETE", &member_path, String::new()).await.status, 204);
    assert_eq!(found(&bob, "q=needle").await.len(), 0);
    let in_chat = bob.get(&format!("{SEARCH}?q=needle&chat_id=c1")).await;
    assert_eq!(in_chat.problem(), (404, "chat-not-found".to_owned()));
}

#[tokio::test]
async fn without_an_index_there_is_no_search() {
    let config = Config { search: SearchConfig { enabled: false }, ..Config::default() };
    let client = Client::over(memory(), config);
    let answer = client.get(&format!("{SEARCH}?q=needle")).await;
    assert_eq!(answer.problem(), (404, "no-search".to_owned()));
}

/// Counts the calls that index chats; the first one fails.
#[derive(Debug, Default)]
struct CountIndexing(AtomicUsize, AtomicUsize);

#[async_trait]
impl Faults for CountIndexing {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        match call {
            Call::IndexChats if self.0.fetch_add(1, Ordering::Relaxed) == 0 => {
                Err(StoreError::Overloaded { retry_after: Duration::ZERO })
            }
            Call::CatchUpIndex => {
                self.1.fetch_add(1, Ordering::Relaxed);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn history<'a>(
        &'a self,
        stored: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        stored
    }
}

#[tokio::test]
async fn changed_chats_are_indexed_again_after_a_failure() {
    let counted = Arc::new(CountIndexing::default());
    let store = Arc::new(MemoryStore::default().with_faults(Arc::<CountIndexing>::clone(&counted)));
    let client = Client::over(Arc::<MemoryStore>::clone(&store), Config::default());
    let (_, indexer) = router_and_upkeep(store, Config::default()).unwrap();
    let indexing = tokio::spawn(indexer.run());
    let until = async |count: &AtomicUsize, least| {
        let reached = async {
            while count.load(Ordering::Relaxed) < least {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(Duration::from_mins(1), reached).await.unwrap();
    };
    let chat = client.create_chat("c1").await;
    // It looks for what it has missed, and follows from then on.
    until(&counted.1, 1).await;
    let said = json!({"role": "user", "content": "needle"});
    assert_eq!(client.post(&format!("{chat}/messages"), said).await.status, 201);
    until(&counted.0, 2).await;
    indexing.abort();
}
