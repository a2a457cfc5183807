//! Rollups equal the sums of their records after failures, and can be verified and corrected.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Document, RawDocumentBuf, doc};
use persistence::mongo::{StatsDifference, Workflow};
use persistence::{Billing, Calls, ChatSessions, Stats};
use records::{ChatId, ChatStatus, Counter, MicroDollars, NewProviderCall, Rollup};

use super::database::Database;
use super::faults::{chat, database_behind_proxy, scope};
use crate::waiting::until;

fn call() -> NewProviderCall {
    let agent = Some("planner".to_owned());
    let cost = MicroDollars::new(250).unwrap();
    NewProviderCall {
        agent,
        prompt_tokens: 100,
        cost,
        duration_ms: 40,
        ..NewProviderCall::default()
    }
}

/// Returns the only workflow.
async fn workflow(database: &Database) -> Workflow {
    let mut workflows = database.counted_workflows(None).await.unwrap();
    assert_eq!(workflows.len(), 1, "{workflows:?}");
    workflows.remove(0)
}

async fn total(database: &Database) -> Rollup {
    let Workflow { app_id, workflow_name } = workflow(database).await;
    database.workflow_stats(&app_id, &workflow_name).await.unwrap().total
}

async fn differences(database: &Database) -> Vec<String> {
    let workflow = workflow(database).await;
    let mut differences = Vec::new();
    let mut found = |difference: StatsDifference| differences.push(difference.to_string());
    database.verify_stats(&workflow, &|| {}, &mut found).await.unwrap();
    differences
}

async fn rebuild(database: &Database) -> usize {
    let workflow = workflow(database).await;
    let mut corrected = 0;
    database.rebuild_stats(&workflow, &|| {}, &mut |_| corrected += 1).await.unwrap();
    corrected
}

/// Creates chats with calls that have ended in every way.
async fn used() -> (Database, Vec<ChatId>) {
    let database = Database::create().await;
    let mut chats = Vec::new();
    for status in ChatStatus::ALL {
        let chat_id = chat(&database).await;
        database
            .record_calls(&scope(), &chat_id, vec![call(), call()], Billing::Free)
            .await
            .unwrap();
        database.set_status(&scope(), &chat_id, status, None).await.unwrap();
        chats.push(chat_id);
    }
    (database, chats)
}

async fn change(database: &Database, kind: &str, update: Document) {
    let rollups = database.raw.collection::<RawDocumentBuf>("workflow_stats");
    let one = doc! { "_id.kind": kind, "_id.hour": null };
    assert_eq!(rollups.update_one(one, update).await.unwrap().modified_count, 1);
}

#[tokio::test]
async fn a_status_change_with_a_lost_acknowledgement_is_made_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    for times in [1, 2] {
        let chat_id = chat(&database).await;
        proxy.lose_replies("commitTransaction", times);
        let chat =
            database.set_status(&scope(), &chat_id, ChatStatus::Completed, None).await.unwrap();
        assert_eq!((proxy.lost(), chat.status), (times, ChatStatus::Completed));
        let completions = total(&database).await.get(Counter::Completions);
        assert_eq!(completions, i64::try_from(times).unwrap());
    }
    assert_eq!(differences(&database).await, [""; 0]);
}

#[tokio::test]
async fn a_status_change_with_a_lost_acknowledgement_is_not_repeated_after_a_later_one() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    proxy.lose_replies("commitTransaction", 2);
    let scope = scope();
    let completing = database.set_status(&scope, &chat_id, ChatStatus::Completed, None);
    let reopening = async {
        // Another caller reopens the chat as soon as it is completed.
        let is_completed = async || {
            let chat = database.get_chat(&scope, &chat_id).await.unwrap().unwrap();
            chat.status == ChatStatus::Completed
        };
        until("the completion", is_completed).await;
        database.set_status(&scope, &chat_id, ChatStatus::Running, None).await.unwrap();
    };
    let (completed, ()) = tokio::join!(completing, reopening);
    completed.unwrap();
    let chat = database.get_chat(&scope, &chat_id).await.unwrap().unwrap();
    assert_eq!((proxy.lost(), chat.status), (2, ChatStatus::Running));
    let total = total(&database).await;
    assert_eq!([Counter::Completions, Counter::Reopens].map(|c| total.get(c)), [1, 1]);
}

#[tokio::test]
async fn correct_rollups_have_no_differences() {
    let (database, _) = used().await;
    assert_eq!(differences(&database).await, [""; 0]);
    assert_eq!(rebuild(&database).await, 0);
}

#[tokio::test]
async fn all_wrong_rollups_are_found_and_corrected() {
    let (database, chats) = used().await;
    let intact = total(&database).await;
    let chat = &chats[0];
    let tampering = [
        ("workflow", doc! { "$inc": { "total_tokens": 7_i64 } }),
        ("workflow", doc! { "$inc": { "histograms.chat_tokens.3": 1_i64 } }),
        ("agent", doc! { "$set": { "cost_micros_usd": 0_i64 } }),
        ("model", doc! { "$unset": { "histograms": 1 } }),
        ("chat", doc! { "$set": { "running": 0_i64, "failed": 1_i64 } }),
        ("chat", doc! { "$unset": { "started_at": 1 } }),
    ];
    for (kind, update) in tampering {
        change(&database, kind, update.clone()).await;
        let found = differences(&database).await;
        assert_eq!(found.len(), 1, "{update}: {found:?}");
        assert_eq!(rebuild(&database).await, 1);
        assert_eq!(differences(&database).await, [""; 0], "{update}");
    }
    let rollups = database.raw.collection::<RawDocumentBuf>("workflow_stats");
    rollups.delete_one(doc! { "_id.kind": "chat", "_id.name": chat.as_str() }).await.unwrap();
    assert_eq!(rebuild(&database).await, 1);
    rollups.delete_many(doc! {}).await.unwrap();
    rebuild(&database).await;
    assert_eq!(differences(&database).await, [""; 0]);
    assert_eq!(total(&database).await, intact);
}

#[tokio::test]
async fn a_difference_describes_the_error() {
    let (database, _) = used().await;
    change(&database, "agent", doc! { "$inc": { "total_tokens": 7_i64 } }).await;
    assert_eq!(differences(&database).await, ["agent planner: total_tokens is 807, not 800"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn rollups_are_corrected_during_writes() {
    let (database, chats) = used().await;
    let database = Arc::new(database);
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = chats
        .into_iter()
        .map(|chat_id| {
            let (database, is_over) = (Arc::clone(&database), Arc::clone(&is_over));
            tokio::spawn(async move {
                let mut calls = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    database
                        .record_calls(&scope(), &chat_id, vec![call()], Billing::Free)
                        .await
                        .unwrap();
                    calls += 1;
                }
                calls
            })
        })
        .collect();
    for _ in 0..5 {
        change(&database, "workflow", doc! { "$inc": { "calls": 1_000_i64 } }).await;
        // Writers continue during the verification, and their changes are never reported as errors.
        assert_eq!(differences(&database).await.len(), 1);
        assert_eq!(rebuild(&database).await, 1);
        assert_eq!(differences(&database).await, [""; 0]);
    }
    is_over.store(true, Ordering::Relaxed);
    let mut calls = 8;
    for writer in writers {
        calls += writer.await.unwrap();
    }
    assert_eq!(total(&database).await.usage().calls, calls);
    assert_eq!(differences(&database).await, [""; 0]);
}
