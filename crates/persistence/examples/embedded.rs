//! A workflow that keeps its chat in the store itself, without a service; docs/book explains it.

#![expect(clippy::print_stdout, reason = "it shows what it does")]

use std::sync::Arc;

use anyhow::{Context as _, Result};
use futures::TryStreamExt as _;
use local_mongod::{LocalMongod, Options};
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::turn::TurnRecorder;
use persistence::{Store, ensure_chat};
use records::{
    AppId, ChatId, EventId, MessageBody, NewChatSession, NewMessage, Scope, TurnId, TurnMessage,
    TurnOutcome, WorkflowName,
};

// ANCHOR: main
#[tokio::main]
async fn main() -> Result<()> {
    // A mongod of this program. With one of your own, only its connection string is needed.
    let mongod = LocalMongod::start(Options::from_env()).await?;
    let store = MongoStore::connect(&MongoOptions::new(mongod.uri(), "embedded")).await?;
    store.build_indexes().await?;
    let store: Arc<dyn Store> = Arc::new(store);

    // Each run of the workflow begins with what is stored. The first one has nothing.
    for run in ["first", "second"] {
        let count = continue_chat(&store, run).await?;
        println!("the {run} run ends with {count} messages");
    }
    mongod.stop().await;
    Ok(())
}
// ANCHOR_END: main

// ANCHOR: workflow
async fn continue_chat(store: &Arc<dyn Store>, run: &str) -> Result<usize> {
    let scope = Scope::service(AppId::parse("tutorial")?);
    let chat_id = ChatId::parse("trip-1")?;
    let chat = NewChatSession {
        chat_id: Some(chat_id.clone()),
        ..NewChatSession::of(WorkflowName::parse("Trip")?)
    };
    ensure_chat(store.as_ref(), &scope, chat).await?;

    // The same message in each run: its id makes that it is stored once.
    let task = NewMessage {
        event_id: Some(EventId::parse("task")?),
        body: MessageBody::new("user", Some("user"), "Plan a day in Lisbon"),
        author: None,
    };
    store.append(&scope, &chat_id, vec![task]).await?;

    // A turn is written whole at its end. If the recorder is dropped before, it is interrupted.
    let turn_id = TurnId::parse(format!("turn-{run}"))?;
    let turn = TurnRecorder::begin(Arc::clone(store), scope.clone(), chat_id.clone(), turn_id);
    let messages: Vec<_> = store.history(&scope, &chat_id).try_collect().await?;
    let said = format!("I have read {} messages", messages.len());
    let body = MessageBody::new("assistant", Some("planner"), said);
    turn.add(None, TurnMessage { body, author: None })?;
    turn.finish(TurnOutcome::Completed).await?;

    let chat = store.get_chat(&scope, &chat_id).await?.context("the chat is away")?;
    println!("last turn: {:?}", chat.last_turn.context("no turn")?.outcome);
    Ok(store.history(&scope, &chat_id).try_collect::<Vec<_>>().await?.len())
}
// ANCHOR_END: workflow
