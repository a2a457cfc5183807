//! Calls and their rollups stay together, whatever becomes of the transaction.

use bson::{RawDocumentBuf, doc};
use persistence::{Billing, Calls, ChatSessions, Exchanges, Outcome};
use records::{CallId, ChatId, EventId, MessageBody, NewMessage, NewProviderCall, Usage};

use super::database::Database;
use super::faults::{FailPoint, chat, database, database_behind_proxy, scope};

fn call(id: &str) -> NewProviderCall {
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

/// Returns the sum of a field over the rollups of a kind, for all time or by the hour.
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
async fn a_transaction_that_fails_leaves_nothing() {
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
async fn an_exchange_that_fails_half_way_leaves_nothing() {
    let (server, database) = database().await;
    let (scope, chat_id) = (scope(), chat(&database).await);
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    for (failures, command) in [(1, "insert"), (2, "update")] {
        let refuse = doc! { "failCommands": [command], "appName": "under-test", "errorCode": 13 };
        let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, refuse).await;
        let messages = vec![said("evt")];
        let exchange =
            database.append_exchange(&scope, &chat_id, messages, call("call_1"), Billing::Free);
        exchange.await.unwrap_err();
        assert_eq!(point.off().await, failures);
        let session = database.get_chat(&scope, &chat_id).await.unwrap().unwrap();
        assert_eq!(
            (session.last_sequence, usage(&database, &chat_id).await),
            (0, Usage::default())
        );
    }
}
