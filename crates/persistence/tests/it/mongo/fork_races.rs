//! Forks of a chat that is deleted, purged or erased at the same moment.

use bson::doc;
use persistence::{ChatSessions as _, Contexts as _, Forks as _, Messages as _, Purges as _};
use records::{
    Actor, ChatId, Ids as _, Lifecycle, NewChatSession, NewFork, SessionChange, UserId, Uuid7Ids,
    WorkflowName,
};
use serde_json::json;

use super::database::Database;
use super::erasures::erase;
use super::faults::{self, FailPoint, scope};
use super::purges::holding;

/// How long the insert of a fork waits, while its transaction is open.
const FORK_WAIT_MS: i64 = 2_000;

/// Creates a chat of a person, with a context that says a token, and forks it.
async fn forked_before(database: &Database, token: &str) -> ChatId {
    let new = NewChatSession {
        user_id: UserId::parse(token).ok(),
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    database.append(&scope(), &chat_id, faults::message(None)).await.unwrap();
    let said = serde_json::from_value(json!({ "said": token })).unwrap();
    database.update_context_snapshot(&scope(), &chat_id, said).await.unwrap();
    database.fork_chat(&scope(), &chat_id, new_fork()).await.unwrap();
    chat_id
}

fn new_fork() -> NewFork {
    NewFork { user_id: UserId::parse("somebody").ok(), ..NewFork::default() }
}

/// Runs `work` while a fork of the chat is inserted. Asserts that it ends after the fork was committed.
async fn while_forked(
    client: &mongodb::Client,
    database: &Database,
    chat_id: &ChatId,
    work: impl Future<Output = ()>,
) {
    let wait = doc! {
        "failCommands": ["insert"],
        "namespace": format!("{}.chat_sessions", database.raw.name()),
        "appName": "under-test",
        "blockConnection": true,
        "blockTimeMS": FORK_WAIT_MS,
    };
    let point = FailPoint::set(client, "failCommand", doc! { "times": 1 }, wait).await;
    let (store, source, new) = (database.store.clone(), chat_id.clone(), new_fork());
    let forking =
        tokio::spawn(async move { store.fork_chat(&scope(), &source, new).await.unwrap() });
    while !point.is_hit().await {}
    let before = database.all("chat_sessions").await.len();
    work.await;
    assert_eq!(database.all("chat_sessions").await.len(), before + 1, "the fork locks its source");
    forking.await.unwrap();
}

/// The fork of a fork is made after the erasure has searched the forks of the chat.
#[tokio::test]
async fn an_erasure_finds_a_fork_of_a_fork_that_is_made_meanwhile() {
    let (server, database) = faults::database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let token = Uuid7Ids.mint("token_");
    let chat_id = forked_before(&database, &token).await;
    let fork = database.fork_chat(&scope(), &chat_id, new_fork()).await.unwrap().chat_id;
    let erasing = async {
        erase(&database, &UserId::parse(&token).unwrap(), 100).await;
    };
    while_forked(&client, &database, &fork, erasing).await;
    assert_eq!(holding(&database, &token).await, [].into());
}

#[tokio::test]
async fn a_fork_of_a_chat_that_was_forked_before_locks_it() {
    let (server, database) = faults::database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let delete = SessionChange::to_lifecycle(Lifecycle::Deleted);
    let chat_id = forked_before(&database, &Uuid7Ids.mint("token_")).await;
    let deleting = async {
        database.change_chat(&scope(), &chat_id, delete).await.unwrap();
    };
    while_forked(&client, &database, &chat_id, deleting).await;
    let chat_id = forked_before(&database, &Uuid7Ids.mint("token_")).await;
    let purging = async {
        let actor = Actor::command_line();
        assert!(database.purge_chat(&actor, &scope(), &chat_id, None).await.unwrap());
    };
    while_forked(&client, &database, &chat_id, purging).await;
    let token = Uuid7Ids.mint("token_");
    let chat_id = forked_before(&database, &token).await;
    let erasing = async {
        erase(&database, &UserId::parse(&token).unwrap(), 100).await;
    };
    while_forked(&client, &database, &chat_id, erasing).await;
    assert_eq!(holding(&database, &token).await, [].into());
}
