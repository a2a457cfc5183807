//! The rollups of users equal the sums of the calls of their chats: planted errors are found, erasures and upgrades keep the sums.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Document, RawDocumentBuf, doc};
use persistence::mongo::{MongoStore, StatsDifference, Workflow};
use persistence::{Billing, Calls, ChatSessions, Erasures, Purges, Stats, StoreError, UsageFilter};
use records::{
    Actor, ChatId, Erasure, MicroDollars, NewChatSession, NewProviderCall, Usage, UserId,
};

use super::database::Database;
use super::faults::scope;
use super::formats::NEWEST;

fn workflow() -> Workflow {
    Workflow { app_id: scope().app_id, workflow_name: "Generator".parse().unwrap() }
}

fn user(id: &str) -> UserId {
    UserId::parse(id).unwrap()
}

fn call(number: i64) -> NewProviderCall {
    NewProviderCall {
        prompt_tokens: 100,
        cost: MicroDollars::new(250).unwrap(),
        duration_ms: 40,
        called_at: chrono::DateTime::from_timestamp(1_700_000_000 + 1_800 * number, 0),
        ..NewProviderCall::default()
    }
}

async fn owned(database: &MongoStore, owner: Option<&str>) -> ChatId {
    let user_id = owner.map(user);
    let new = NewChatSession { user_id, ..NewChatSession::of(workflow().workflow_name) };
    database.create_chat(&scope(), new).await.unwrap().chat_id
}

async fn record(database: &MongoStore, chat_id: &ChatId, calls: i64) {
    let calls = (0..calls).map(call).collect();
    database.record_calls(&scope(), chat_id, calls, Billing::Free).await.unwrap();
}

/// Three chats of ada, one of bob, and one without an owner, each with calls in several hours.
async fn use_chats(database: &MongoStore) -> Vec<ChatId> {
    let mut chats = Vec::new();
    for owner in [Some("ada"), Some("ada"), Some("ada"), Some("bob"), None] {
        let chat_id = owned(database, owner).await;
        record(database, &chat_id, 5).await;
        chats.push(chat_id);
    }
    chats
}

async fn differences(store: &MongoStore) -> Vec<String> {
    let mut differences = Vec::new();
    let mut found = |difference: StatsDifference| differences.push(difference.to_string());
    store.verify_stats(&workflow(), &|| {}, &mut found).await.unwrap();
    differences
}

async fn rebuild(store: &MongoStore) {
    for _ in 0..3 {
        store.rebuild_stats(&workflow(), &|| {}, &mut |_| {}).await.unwrap();
    }
}

async fn change(database: &Database, of: Document, update: Document) {
    let rollups = database.raw.collection::<RawDocumentBuf>("workflow_stats");
    assert!(rollups.update_many(of, update).await.unwrap().modified_count > 0);
}

async fn total(store: &MongoStore, id: &str) -> Usage {
    store.user_stats(&scope().app_id, &user(id)).await.unwrap().total
}

#[tokio::test]
async fn wrong_rollups_of_users_are_found_and_corrected() {
    let database = Database::create().await;
    let chats = use_chats(&database).await;
    let of_user = |hour: Document| doc! { "_id.kind": "user", "_id.name": "ada", "_id.hour": hour };
    let first = bson::DateTime::from_millis(1_700_000_000 / 3_600 * 3_600_000);
    let planted = [
        (of_user(doc! { "$eq": null }), doc! { "$inc": { "calls": 3_i64 } }),
        (of_user(doc! { "$eq": first }), doc! { "$inc": { "cost_micros_usd": -1_i64 } }),
        (of_user(doc! { "$eq": null }), doc! { "$unset": { "total_tokens": 1 } }),
    ];
    let intact = total(&database, "ada").await;
    assert_eq!(intact.calls, 15);
    for (of, update) in planted {
        assert_eq!(differences(&database).await, [""; 0]);
        change(&database, of.clone(), update.clone()).await;
        let found = differences(&database).await;
        assert_eq!(found.len(), 1, "{of} {update}: {found:?}");
        assert!(found[0].starts_with("user ada"), "{found:?}");
        rebuild(&database).await;
        assert_eq!(differences(&database).await, [""; 0]);
        assert_eq!(total(&database, "ada").await, intact);
    }
    let of_chat = doc! { "_id.kind": "chat", "_id.name": chats[0].as_str() };
    for update in [doc! { "$set": { "user_id": "bob" } }, doc! { "$unset": { "user_id": 1 } }] {
        change(&database, of_chat.clone(), update).await;
        let found = differences(&database).await;
        assert!(found.iter().any(|it| it.contains("its user is ")), "{found:?}");
        rebuild(&database).await;
        assert_eq!(differences(&database).await, [""; 0]);
        assert_eq!(
            (total(&database, "ada").await, total(&database, "bob").await.calls),
            (intact, 5)
        );
    }
    let rollups = database.raw.collection::<RawDocumentBuf>("workflow_stats");
    rollups.delete_many(doc! {}).await.unwrap();
    rebuild(&database).await;
    assert_eq!(differences(&database).await, [""; 0]);
    assert_eq!(total(&database, "ada").await, intact);
}

/// Before, during and after: verifications run between the steps, and calls are recorded all the time.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_erasure_keeps_the_sums_while_calls_are_recorded() {
    let database = Arc::new(Database::create().await);
    let chats = use_chats(&database).await;
    let actor = Actor::command_line();
    let app_id = scope().app_id;
    database.purge_chat(&actor, &scope(), &chats[2], None).await.unwrap();
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = chats
        .iter()
        .map(|chat_id| {
            let (database, is_over) = (Arc::clone(&database), Arc::clone(&is_over));
            let chat_id = chat_id.clone();
            tokio::spawn(async move {
                let mut recorded = 0_u64;
                while !is_over.load(Ordering::Relaxed) {
                    let calls = vec![call(1)];
                    match database.record_calls(&scope(), &chat_id, calls, Billing::Free).await {
                        Ok(_) => recorded += 1,
                        Err(StoreError::ChatNotFound(_)) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
                recorded
            })
        })
        .collect();
    let begun = database.begin_erasure(&actor, &app_id, &user("ada")).await.unwrap();
    // Another process goes on after every step, as if each one were killed.
    loop {
        let process = MongoStore::connect(&database.options).await.unwrap();
        let erasure = process.continue_erasure(&app_id, begun.pseudonym, 1).await.unwrap().unwrap();
        assert_eq!(differences(&database).await, [""; 0]);
        if erasure.finished_at.is_some() {
            break;
        }
    }
    is_over.store(true, Ordering::Relaxed);
    let mut recorded = Vec::new();
    for writer in writers {
        recorded.push(writer.await.unwrap());
    }
    let alias = format!("{}{}", Erasure::PREFIX, begun.pseudonym);
    let of_ada: u64 = recorded[..3].iter().sum();
    assert_eq!(total(&database, &alias).await.calls, 15 + of_ada);
    assert_eq!(total(&database, "bob").await.calls, 5 + recorded[3]);
    assert!(recorded[3] > 3, "too few concurrent calls");
    assert_eq!(differences(&database).await, [""; 0]);
    for raw in database.all("workflow_stats").await {
        assert!(!format!("{raw:?}").contains("\"ada\""), "{raw:?}");
    }
}

/// Returns a database with chats whose calls no process has counted for users, as an older release leaves it.
async fn older_database() -> Database {
    let database = Database::create().await;
    use_chats(&database).await;
    let rollups = database.raw.collection::<RawDocumentBuf>("workflow_stats");
    rollups.delete_many(doc! { "_id.kind": "user" }).await.unwrap();
    let of_chats = doc! { "_id.kind": "chat" };
    let older = doc! { "$unset": { "user_id": 1 }, "$set": { "schema_version": 1_i64 } };
    rollups.update_many(of_chats, older).await.unwrap();
    set_format(&database, 4).await;
    database
}

async fn set_format(database: &Database, format: i64) {
    let formats = database.raw.collection::<RawDocumentBuf>("store_format");
    formats.update_one(doc! {}, doc! { "$set": { "format": format } }).await.unwrap();
}

#[tokio::test]
async fn the_usage_of_users_is_refused_until_the_chats_of_earlier_releases_are_counted() {
    let database = older_database().await;
    let process = MongoStore::connect(&database.options).await.unwrap();
    let app_id = scope().app_id;
    let chat_id = owned(&process, Some("ada")).await;
    record(&process, &chat_id, 2).await;
    for format in [4, 5] {
        set_format(&database, format).await;
        let filter = UsageFilter::default();
        let refusals = [
            process.user_stats(&app_id, &user("ada")).await.unwrap_err(),
            process.list_user_stats(&app_id, &filter, 9, None).await.unwrap_err(),
        ];
        for refusal in refusals {
            assert!(matches!(refusal, StoreError::UpgradePending { .. }), "{refusal}");
        }
        assert_eq!(differences(&process).await, [""; 0], "format {format}");
    }
    set_format(&database, 4).await;
    let finished = process.finish_upgrade().await.unwrap();
    assert_eq!((finished.from, finished.to, finished.counted), (4, NEWEST, 5));
    assert_eq!(total(&process, "ada").await.calls, 17);
    assert_eq!(total(&process, "bob").await.calls, 5);
    assert_eq!(differences(&process).await, [""; 0]);
    record(&process, &chat_id, 1).await;
    assert_eq!(total(&process, "ada").await.calls, 18);
    assert_eq!(differences(&process).await, [""; 0]);
}

/// The upgrade broke off between the two formats.
#[tokio::test]
async fn an_upgrade_that_broke_off_goes_on_where_it_was() {
    let database = older_database().await;
    set_format(&database, 5).await;
    let process = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = owned(&process, Some("ada")).await;
    record(&process, &chat_id, 2).await;
    let finished = process.finish_upgrade().await.unwrap();
    assert_eq!((finished.from, finished.to, finished.counted), (5, NEWEST, 4));
    assert_eq!(total(&process, "ada").await.calls, 17);
    assert_eq!(differences(&process).await, [""; 0]);
}
