//! Verifications of rollups and wallets take as long as they need, continue after a failure, and
//! distinguish errors from concurrent changes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use chrono::{DateTime, TimeDelta, Utc};
use persistence::mongo::{MongoStore, StatsDifference, WalletVerification, Workflow};
use persistence::{Billing, Calls, ChatSessions, Exchanges, StoreError, Wallets};
use records::{
    CallId, ChatId, ChatStatus, EntryId, MicroDollars, NewProviderCall, NewWalletEntry, UserId,
};

use super::database::Database;
use super::faults::{FailPoint, chat, database, scope};

const CHATS: usize = 40;
const CALLS_OF_EACH: usize = 100;
const HOURS: usize = 12;

/// The status changes during a verification.
const MOVES: [ChatStatus; 6] = [
    ChatStatus::Running,
    ChatStatus::Completed,
    ChatStatus::Running,
    ChatStatus::Paused,
    ChatStatus::Running,
    ChatStatus::Failed,
];

fn workflow() -> Workflow {
    Workflow { app_id: scope().app_id, workflow_name: "Generator".parse().unwrap() }
}

/// Returns the beginning of one of the hours with calls.
fn hour(number: usize) -> DateTime<Utc> {
    let first = DateTime::from_timestamp(1_700_000_000 / 3_600 * 3_600, 0).unwrap();
    first + TimeDelta::hours(i64::try_from(number).unwrap())
}

fn call(number: usize) -> NewProviderCall {
    NewProviderCall {
        call_id: Some(CallId::parse(format!("call_{number}")).unwrap()),
        agent: Some(format!("agent {}", number % 3)),
        prompt_tokens: 100 + number as u64,
        cost: MicroDollars::new(250).unwrap(),
        duration_ms: 40,
        called_at: Some(hour(number % HOURS) + TimeDelta::minutes(7)),
        ..NewProviderCall::default()
    }
}

/// Adds chats with calls in many hours, some of them ended.
async fn use_workflow(database: &Database) -> Vec<ChatId> {
    let mut chats = Vec::new();
    for number in 0..CHATS {
        let chat_id = chat(database).await;
        let calls = (0..CALLS_OF_EACH).map(call).collect();
        database.record_calls(&scope(), &chat_id, calls, Billing::Free).await.unwrap();
        let status = ChatStatus::ALL[number % ChatStatus::ALL.len()];
        database.set_status(&scope(), &chat_id, status, None).await.unwrap();
        chats.push(chat_id);
    }
    chats
}

/// Returns a store whose calls time out before a verification ends, and whose verification takes
/// new snapshots as often as possible.
async fn hasty(database: &Database) -> MongoStore {
    let mut options = database.options.clone();
    options.deadline = Duration::from_millis(25);
    options.proof_snapshot = Duration::ZERO;
    MongoStore::connect(&options).await.unwrap()
}

async fn differences(store: &MongoStore) -> Result<Vec<String>, StoreError> {
    let mut differences = Vec::new();
    let mut found = |difference: StatsDifference| differences.push(difference.to_string());
    store.verify_stats(&workflow(), &|| {}, &mut found).await?;
    Ok(differences)
}

async fn change(database: &Database, of: Document, update: Document) {
    let rollups = database.raw.collection::<RawDocumentBuf>("workflow_stats");
    assert_eq!(rollups.update_one(of, update).await.unwrap().modified_count, 1);
}

/// Records calls, deletes calls and changes statuses until told to stop. Returns the number of writes.
async fn write(database: Arc<Database>, chat_id: ChatId, is_over: Arc<AtomicBool>) -> usize {
    let mut rounds = 0;
    while !is_over.load(Ordering::Relaxed) {
        let number = CALLS_OF_EACH + rounds;
        let (scope, call) = (scope(), call(number));
        let call_id = call.call_id.clone().unwrap();
        database.record_calls(&scope, &chat_id, vec![call], Billing::Free).await.unwrap();
        if rounds % 3 == 0 {
            database.delete_call(&scope, &chat_id, &call_id).await.unwrap();
        }
        let status = MOVES[rounds % MOVES.len()];
        database.set_status(&scope, &chat_id, status, None).await.unwrap();
        if rounds % 5 == 0 {
            chat(&database).await;
        }
        rounds += 1;
    }
    rounds
}

#[tokio::test]
async fn a_verification_may_take_longer_than_a_call() {
    let database = Database::create().await;
    use_workflow(&database).await;
    assert_eq!(differences(&hasty(&database).await).await.unwrap(), [""; 0]);
}

/// The verification finds every planted error, and reports no concurrent change as an error.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn errors_are_distinguished_from_concurrent_changes() {
    let database = Arc::new(Database::create().await);
    let chats = use_workflow(&database).await;
    let hasty = hasty(&database).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let writers: Vec<_> = chats[..6]
        .iter()
        .map(|chat_id| {
            let (database, is_over) = (Arc::clone(&database), Arc::clone(&is_over));
            tokio::spawn(write(database, chat_id.clone(), is_over))
        })
        .collect();
    let at = bson::DateTime::from_chrono(hour(5));
    let busy = |kind: &str| doc! { "_id.kind": kind, "_id.hour": at, "_id.stripe": 0_i64 };
    let ever = |kind: &str| doc! { "_id.kind": kind, "_id.hour": null, "_id.stripe": 0_i64 };
    let of_chat = |chat: &ChatId| doc! { "_id.kind": "chat", "_id.name": chat.as_str() };
    let planted = [
        (busy("workflow"), doc! { "$inc": { "calls": 3_i64 } }),
        (busy("agent"), doc! { "$inc": { "histograms.call_tokens.9": 1_i64 } }),
        (busy("model"), doc! { "$inc": { "prompt_tokens": -1_i64 } }),
        (ever("workflow"), doc! { "$inc": { "running": 1_i64 } }),
        (ever("workflow"), doc! { "$inc": { "histograms.chat_tokens.9": 1_i64 } }),
        (ever("agent"), doc! { "$inc": { "cost_micros_usd": 7_i64 } }),
        // A chat without concurrent writes, because calls would change the histograms by the
        // planted error.
        (of_chat(&chats[20]), doc! { "$inc": { "total_tokens": 1_i64 << 30 } }),
        (of_chat(&chats[30]), doc! { "$unset": { "started_at": 1 } }),
    ];
    for (of, update) in planted {
        assert_eq!(differences(&hasty).await.unwrap(), [""; 0], "before {of}");
        change(&database, of.clone(), update.clone()).await;
        let found = differences(&hasty).await.unwrap();
        assert_eq!(found.len(), 1, "{of} {update}: {found:?}");
        let mut corrected = 0;
        hasty.rebuild_stats(&workflow(), &|| {}, &mut |_| corrected += 1).await.unwrap();
        assert_eq!(corrected, 1);
    }
    assert_eq!(differences(&hasty).await.unwrap(), [""; 0]);
    is_over.store(true, Ordering::Relaxed);
    for writer in writers {
        assert!(writer.await.unwrap() > 8, "too few concurrent writes");
    }
    assert_eq!(differences(&hasty).await.unwrap(), [""; 0]);
}

/// One in ten reads fails.
#[tokio::test]
async fn an_interrupted_verification_continues() {
    let (server, database) = database().await;
    use_workflow(&database).await;
    let count = async |store: &MongoStore| {
        let read = AtomicU64::new(0);
        let record = || {
            read.fetch_add(1, Ordering::Relaxed);
        };
        let mut found = Vec::new();
        let mut tell = |difference| found.push(difference);
        store.verify_stats(&workflow(), &record, &mut tell).await.unwrap();
        assert_eq!(found, []);
        read.load(Ordering::Relaxed)
    };
    let hasty = hasty(&database).await;
    let undisturbed = count(&hasty).await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let lost = doc! {
        "failCommands": ["find", "getMore"], "appName": "under-test", "closeConnection": true,
    };
    let mode = doc! { "activationProbability": 0.1 };
    let point = FailPoint::set(&client, "failCommand", mode, lost).await;
    let disturbed = tokio::time::timeout(Duration::from_mins(5), count(&hasty)).await.unwrap();
    assert!(point.off().await > 0, "no read failed");
    // What was being read when a read failed is read again, up to one hour of calls. A verification
    // that began again from the start would read everything hundreds of times.
    assert!(disturbed < undisturbed * 12, "{disturbed} records were read instead of {undisturbed}");
}

async fn wallet_differences(store: &MongoStore) -> Result<(u64, Vec<String>), StoreError> {
    let (mut entries, mut differences) = (0, Vec::new());
    let mut tell = |proof: WalletVerification<'_>| match proof {
        WalletVerification::Wallet(_) => {}
        WalletVerification::Entries(number) => entries += number,
        WalletVerification::Difference(wallet, words) => {
            differences.push(format!("{}: {words}", wallet.user_id));
        }
        WalletVerification::Orphans(_, user_id, _) => differences.push(user_id.to_string()),
    };
    store.verify_wallets(None, &mut tell).await?;
    Ok((entries, differences))
}

/// Debits continue, and the first replies of each kind are lost for longer than a call may take.
#[tokio::test(flavor = "multi_thread")]
async fn wallets_are_verified_during_debits_and_an_outage() {
    let (server, database) = database().await;
    let hasty = hasty(&database).await;
    let alice = UserId::parse("alice").unwrap();
    let debit = |n: usize| NewWalletEntry {
        entry_id: EntryId::parse(format!("debit-{n}")).unwrap(),
        amount: 1,
        reason: None,
    };
    database.ensure_wallet(&scope(), &alice, 1_000).await.unwrap();
    for n in 0..200 {
        database.debit(&scope(), &alice, debit(n)).await.unwrap();
    }
    let writer = database.store.clone();
    let writing = tokio::spawn(async move {
        for n in 200..400 {
            writer.debit(&scope(), &UserId::parse("alice").unwrap(), debit(n)).await.unwrap();
        }
    });
    while !writing.is_finished() {
        assert_eq!(wallet_differences(&hasty).await.unwrap().1, [""; 0]);
    }
    writing.await.unwrap();
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let lost = doc! { "failCommands": ["find"], "appName": "under-test", "closeConnection": true };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 6 }, lost).await;
    assert_eq!(wallet_differences(&hasty).await.unwrap(), (401, Vec::new()));
    assert_eq!(point.off().await, 6);

    let lines = database.raw.collection::<RawDocumentBuf>("wallet_entries");
    let off = doc! { "$inc": { "balance": 7_i64 } };
    lines.update_one(doc! { "sequence": 5_i64 }, off).await.unwrap();
    lines.delete_one(doc! { "sequence": 9_i64 }).await.unwrap();
    let (entries, found) = wallet_differences(&hasty).await.unwrap();
    assert_eq!((entries, found.len()), (400, 5), "{found:?}");
}
