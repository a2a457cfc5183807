//! Calls and their rollups stay consistent when transactions fail.

use bson::{Document, RawDocumentBuf, doc};
use futures::{StreamExt as _, TryStreamExt as _};
use persistence::mongo::Interruption;
use persistence::{Billing, Calls, Changes, ChatSessions, Exchanges, Forks, Messages, Outcome};
use records::{CallId, ChatId, EventId, MessageBody, NewFork, NewMessage, NewProviderCall, Usage};

use super::database::Database;
use super::faults::{FailPoint, chat, database, database_behind_proxy, scope};

pub(super) fn call(id: &str) -> NewProviderCall {
    NewProviderCall {
        call_id: Some(CallId::parse(id).unwrap()),
        agent: Some("agent.$with_dots".to_owned()),
        prompt_tokens: 3,
        ..NewProviderCall::default()
    }
}

async fn usage(database: &Database, chat_id: &ChatId) -> Usage {
    database.chat_usage(&scope(), chat_id).await.unwrap()
}

/// Returns the sum of a field over the rollups of a kind: the hourly rollups or the totals.
async fn sum(database: &Database, kind: &str, by_hour: bool, field: &str) -> i64 {
    let counts = |rollup: &RawDocumentBuf| {
        let id = rollup.get_document("_id").unwrap();
        let has_hour = id.get("hour").unwrap() != Some(bson::RawBsonRef::Null);
        id.get_str("kind").unwrap() == kind && has_hour == by_hour
    };
    let rollups = database.all("workflow_stats").await;
    rollups.iter().filter(|rollup| counts(rollup)).map(|r| r.get_i64(field).unwrap()).sum()
}

#[tokio::test]
async fn every_call_counts_for_its_chat_workflow_agent_and_model() {
    let database = Database::create().await;
    let chats = [chat(&database).await, chat(&database).await];
    for index in 0..10 {
        let calls = vec![call(&format!("call_{index}_a")), call(&format!("call_{index}_b"))];
        database.record_calls(&scope(), &chats[index % 2], calls, Billing::Free).await.unwrap();
    }
    for kind in ["workflow", "agent", "model"] {
        for by_hour in [false, true] {
            assert_eq!(sum(&database, kind, by_hour, "calls").await, 20, "{kind}");
            assert_eq!(sum(&database, kind, by_hour, "prompt_tokens").await, 60, "{kind}");
        }
    }
    assert_eq!(usage(&database, &chats[0]).await.calls, 10);
}

#[tokio::test]
async fn a_commit_whose_acknowledgement_is_lost_counts_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    for times in [1, 2] {
        proxy.lose_replies("commitTransaction", times);
        let calls = vec![call(&format!("call_{times}"))];
        let recorded =
            database.record_calls(&scope(), &chat_id, calls, Billing::Free).await.unwrap().calls;
        assert_eq!(proxy.lost(), times);
        assert_eq!(recorded[0].outcome, Outcome::Stored);
        let sum = sum(&database, "workflow", false, "calls").await;
        assert_eq!(u64::try_from(sum).unwrap(), times as u64);
        assert_eq!(usage(&database, &chat_id).await.calls, times as u64);
    }
}

#[tokio::test]
async fn a_failed_transaction_changes_nothing() {
    let (server, database) = database().await;
    let chat_id = chat(&database).await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let refuse = doc! { "failCommands": ["update"], "appName": "under-test", "errorCode": 13 };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, refuse).await;
    database
        .record_calls(&scope(), &chat_id, vec![call("call_1")], Billing::Free)
        .await
        .unwrap_err();
    assert_eq!(point.off().await, 1);
    assert_eq!(usage(&database, &chat_id).await, Usage::default());
    let recorded = database
        .record_calls(&scope(), &chat_id, vec![call("call_1")], Billing::Free)
        .await
        .unwrap()
        .calls;
    assert_eq!(recorded[0].outcome, Outcome::Stored);
    assert_eq!(sum(&database, "agent", true, "calls").await, 1);
}

fn said(id: &str) -> NewMessage {
    let body = MessageBody::new("assistant", Some("planner"), id);
    NewMessage { event_id: Some(EventId::parse(id).unwrap()), ..body.into() }
}

#[tokio::test]
async fn an_exchange_whose_acknowledgement_is_lost_is_stored_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    for times in [1, 2] {
        proxy.lose_replies("commitTransaction", times);
        let messages =
            vec![said(&format!("evt_{times}")), NewMessage { event_id: None, ..said("x") }];
        let call = call(&format!("call_{times}"));
        let exchange = database
            .append_exchange(&scope(), &chat_id, messages, call, Billing::Free)
            .await
            .unwrap();
        assert_eq!(proxy.lost(), times);
        let outcomes: Vec<_> = exchange.append.messages.iter().map(|m| m.outcome).collect();
        assert_eq!(outcomes, [Outcome::Stored; 2]);
        assert_eq!(exchange.call.outcome, Outcome::Stored);
        assert_eq!(exchange.append.last_sequence, 2 * times as u64);
        assert_eq!(usage(&database, &chat_id).await.calls, times as u64);
    }
    proxy.lose_replies("commitTransaction", 2);
    database.delete_call(&scope(), &chat_id, &CallId::parse("call_1").unwrap()).await.unwrap();
    assert_eq!((proxy.lost(), usage(&database, &chat_id).await.calls), (2, 1));
}

#[tokio::test]
async fn an_exchange_that_fails_half_way_changes_nothing() {
    let (server, database) = database().await;
    let (scope, chat_id) = (scope(), chat(&database).await);
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    for command in ["insert", "update"] {
        let refuse = doc! { "failCommands": [command], "appName": "under-test", "errorCode": 13 };
        let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, refuse).await;
        let messages = vec![said("evt")];
        let exchange =
            database.append_exchange(&scope, &chat_id, messages, call("call_1"), Billing::Free);
        exchange.await.unwrap_err();
        assert_eq!(point.off().await, 1);
        let session = database.get_chat(&scope, &chat_id).await.unwrap().unwrap();
        assert_eq!(
            (session.last_sequence, usage(&database, &chat_id).await),
            (0, Usage::default())
        );
    }
}

/// Returns a message of about 2 kB, which names a call if one is given.
fn large(call_id: Option<&str>) -> NewMessage {
    let mut body = MessageBody::new("assistant", Some("planner"), "x".repeat(2_000));
    body.extra.extend(call_id.map(|id| (MessageBody::PRODUCED_BY.to_owned(), id.into())));
    body.into()
}

/// Creates a chat with this many batches of sealed messages. In each batch that `is_named` selects, the first
/// message names `call_1`.
async fn chat_of(database: &Database, batches: usize, is_named: impl Fn(usize) -> bool) -> ChatId {
    let chat_id = chat(database).await;
    for batch in 0..batches {
        let mut messages = vec![large(None); 31];
        messages.insert(0, large(is_named(batch).then_some("call_1")));
        database.append(&scope(), &chat_id, messages).await.unwrap();
    }
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let recorded = vec![call("call_1")];
    database.record_calls(&scope(), &chat_id, recorded, Billing::Free).await.unwrap();
    chat_id
}

async fn links(database: &Database, chat_id: &ChatId) -> usize {
    let scope = scope();
    let mut history = database.history(&scope, chat_id);
    let mut links = 0;
    while let Some(message) = history.next().await {
        let link = message.unwrap().body.extra.get(MessageBody::PRODUCED_BY).cloned();
        links += usize::from(link.is_some_and(|link| !link.is_null()));
    }
    links
}

/// Deletes `call_1` with the profiler on. Returns the operations on the collections with these names.
async fn delete_profiled(database: &Database, chat_id: &ChatId, names: &str) -> Vec<Document> {
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    profile.drop().await.unwrap();
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    database.delete_call(&scope(), chat_id, &CallId::parse("call_1").unwrap()).await.unwrap();
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let of_these = doc! { "ns": { "$regex": format!("\\.({names})$") } };
    let found: Vec<_> = profile.find(of_these).await.unwrap().try_collect().await.unwrap();
    found.iter().map(|raw| Document::try_from(&**raw).unwrap()).collect()
}

#[tokio::test]
async fn deleting_a_call_reads_only_the_segments_that_name_it() {
    let database = Database::create().await;
    let chat_id = chat_of(&database, 60, |batch| batch % 25 == 3).await;
    assert_eq!(links(&database, &chat_id).await, 3);
    let operations = delete_profiled(&database, &chat_id, "chat_segments").await;
    assert_eq!(links(&database, &chat_id).await, 0);
    assert!(!operations.is_empty());
    for operation in operations {
        let examined = operation.get_i32("docsExamined").unwrap();
        assert!(examined <= 3, "{operation}");
    }
}

/// Appends to the chat wait for at most one batch of the deletion.
#[tokio::test]
async fn a_call_that_many_messages_name_is_deleted_in_batches() {
    const BATCHES: usize = 150;
    const SEGMENTS_AT_ONCE: usize = 64;
    let database = Database::create().await;
    let chat_id = chat_of(&database, BATCHES, |_| true).await;
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    database.record_calls(&scope(), &fork, vec![call("call_1")], Billing::Free).await.unwrap();
    database.append(&scope(), &fork, vec![large(Some("call_1"))]).await.unwrap();
    database.append(&scope(), &chat_id, vec![large(Some("call_1"))]).await.unwrap();
    assert_eq!(links(&database, &chat_id).await, BATCHES + 1);

    // All sealed messages are shared now, so each chat has versions of its own.
    delete_profiled(&database, &fork, "chat_segments").await;
    assert_eq!(links(&database, &fork).await, 0);
    assert_eq!(links(&database, &chat_id).await, BATCHES + 1);
    assert_eq!(usage(&database, &fork).await, Usage::default());
    delete_profiled(&database, &chat_id, "chat_segments").await;
    assert_eq!(links(&database, &chat_id).await, 0);
    let head = database.confirmed_head(&scope(), &chat_id).await.unwrap();
    assert_eq!(head.revision, BATCHES as u64 + 1);

    let chat_id = chat_of(&database, BATCHES, |_| true).await;
    // Each transaction updates the session first, and then segments.
    let mut transactions: Vec<usize> = Vec::new();
    for operation in delete_profiled(&database, &chat_id, "chat_sessions|chat_segments").await {
        let is_of_segments = operation.get_str("ns").unwrap().ends_with("chat_segments");
        if operation.get_document("command").unwrap().contains_key("findAndModify") {
            transactions.push(0);
        } else if is_of_segments && operation.get_str("op").unwrap() == "update" {
            *transactions.last_mut().unwrap() += 1;
        }
    }
    assert_eq!(links(&database, &chat_id).await, 0);
    assert_eq!(usage(&database, &chat_id).await, Usage::default());
    assert_eq!(transactions.iter().sum::<usize>(), BATCHES, "{transactions:?}");
    assert!(transactions.iter().all(|segments| *segments <= SEGMENTS_AT_ONCE), "{transactions:?}");
}

/// A call that does not exist needs no deletion, and no batch of the messages that name it is unlinked.
#[tokio::test]
async fn deleting_a_missing_call_changes_no_message() {
    let database = Database::create().await;
    let chat_id = chat_of(&database, 70, |_| true).await;
    database.raw.collection::<RawDocumentBuf>("provider_calls").delete_many(doc! {}).await.unwrap();
    let missing = CallId::parse("call_1").unwrap();
    database.delete_call(&scope(), &chat_id, &missing).await.unwrap();
    assert_eq!(links(&database, &chat_id).await, 70);
}
