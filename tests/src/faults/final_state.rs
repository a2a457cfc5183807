//! The final state, read from the service and from its database.

use std::collections::BTreeMap;

use anyhow::Result;
use persistence::mongo::{DataCheck, MongoOptions, MongoStore};
use reqwest::Method;
use serde_json::Value;

use super::body;
use super::checker::{Finding, Kind};
use super::history::{ChatState, Counter, FinalState, State, StoredMessage};
use super::workload::NAMESPACE;
use crate::client::{APP, Client};
use crate::database::Database;

/// Reads all chats, through a service and straight from the documents.
pub async fn read(client: &Client, database: &Database, chats: &[String]) -> Result<FinalState> {
    let (mut served, mut stored) = (State::new(), State::new());
    for chat in chats {
        served.insert(chat.clone(), served_chat(client, chat).await?);
        stored.insert(chat.clone(), stored_chat(database, chat).await?);
    }
    Ok(FinalState { served, stored, documents: documents(client).await? })
}

/// Finds what is stored of chats and documents and does not fit together.
pub async fn misfits(database: &Database) -> Result<Vec<Finding>> {
    let options = MongoOptions::new(database.uri(), database.name());
    let store = MongoStore::connect(&options).await?;
    let mut findings = Vec::new();
    let mut tell = |check: DataCheck<'_>| {
        if let DataCheck::Fault(fault) = check {
            findings.push(Finding::of(Kind::Misfit, fault.to_string()));
        }
    };
    store.check_chats(None, &mut tell).await?;
    store.check_documents(None, &mut tell).await?;
    Ok(findings)
}

/// Reads the documents of the trial.
async fn documents(client: &Client) -> Result<BTreeMap<String, String>> {
    let list = format!("/api/documents/{APP}?namespace={NAMESPACE}&limit=100");
    let listed = client.call(Method::GET, &list, None).await?;
    let mut documents = BTreeMap::new();
    for path in listed["data"].as_array().into_iter().flatten().filter_map(|it| it["path"].as_str())
    {
        let content = client.whole_document(APP, path).await?;
        documents.extend(content.map(|content| (path.to_owned(), content)));
    }
    Ok(documents)
}

async fn served_chat(client: &Client, chat_id: &str) -> Result<ChatState> {
    let chat = client.chat(chat_id);
    let messages = chat.messages().await?;
    let sequence = |message: &Value| message["sequence"].as_u64().unwrap_or(u64::MAX);
    let messages: Vec<_> = messages.iter().map(|it| stored_message(sequence(it), it)).collect();
    let meta = chat.get("meta").await?;
    let counter = Counter {
        name: "last_sequence".to_owned(),
        kept: meta["last_sequence"].as_u64().unwrap_or(u64::MAX),
        recomputed: messages.len() as u64,
    };
    let context = version(&chat.get("context").await?["context_snapshot"]);
    Ok(ChatState { messages, counters: vec![counter], context })
}

async fn stored_chat(database: &Database, chat_id: &str) -> Result<ChatState> {
    let chat = database.stored_chat(chat_id).await?;
    let messages = chat.messages.iter().map(|(sequence, it)| stored_message(*sequence, it));
    let counters = chat.kept.iter().map(|it| Counter {
        name: it.name.to_owned(),
        kept: it.kept,
        recomputed: it.recomputed,
    });
    Ok(ChatState {
        messages: messages.collect(),
        counters: counters.collect(),
        context: version(&chat.context_snapshot),
    })
}

fn stored_message(sequence: u64, message: &Value) -> StoredMessage {
    let event_id = message["event_id"].as_str().unwrap_or_default().to_owned();
    StoredMessage { sequence, event_id, hash: body::hash(message) }
}

/// The version that the context writer put into a snapshot.
fn version(snapshot: &Value) -> u64 {
    snapshot["version"].as_u64().unwrap_or(0)
}
