//! Wallets in MongoDB: races between processes, lost acknowledgements, and the archiving of entries
//! to lines.

use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use futures::future::join_all;
use persistence::mongo::MongoStore;
use persistence::{Outcome, Store, StoreError, Wallets};
use records::{EntryId, NewWalletEntry, UserId};
use store_contract::metrics::count;

use super::database::Database;
use super::faults::{FailPoint, database, database_behind_proxy, scope};
use crate::waiting::until;

fn alice() -> UserId {
    UserId::parse("alice").unwrap()
}

fn entry(id: impl Into<String>, amount: i64) -> NewWalletEntry {
    NewWalletEntry { entry_id: EntryId::parse(id).unwrap(), amount, reason: None }
}

async fn wallet_of_alice(database: &Database, balance: i64) {
    database.ensure_wallet(&scope(), &alice(), balance).await.unwrap();
}

/// Asserts the balance and the number of entries, and that the entries are dense and add up to the
/// balance.
async fn assert_holds(store: &MongoStore, balance: i64, entry_count: u64) {
    let wallet = store.get_wallet(&scope(), &alice()).await.unwrap().unwrap();
    let page = store.list_wallet_entries(&scope(), &alice(), 10_000, None).await.unwrap();
    let mut sum = 0;
    for (sequence, entry) in page.entries.iter().rev().enumerate() {
        sum += entry.amount;
        assert_eq!((entry.sequence, entry.balance), (sequence as u64, sum));
    }
    assert_eq!((wallet.balance, wallet.entry_count), (balance, entry_count));
    assert_eq!((sum, page.entries.len() as u64), (balance, entry_count));
}

/// Returns the sequences of the stored lines, in order.
async fn lines(database: &Database) -> Vec<i64> {
    let lines = database.all("wallet_entries").await;
    let mut lines: Vec<i64> = lines.iter().map(|line| line.get_i64("sequence").unwrap()).collect();
    lines.sort_unstable();
    lines
}

#[tokio::test(flavor = "multi_thread")]
async fn racing_debits_of_two_processes_succeed_for_exactly_the_tokens_left() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    for round in 0..5_u32 {
        let (user, scope) = (UserId::parse(format!("user {round}")).unwrap(), scope());
        database.ensure_wallet(&scope, &user, 23).await.unwrap();
        let rivals = (0..64).map(|n| {
            let store = if n % 2 == 0 { &database.store } else { &other };
            store.try_debit(&scope, &user, entry(format!("rival {n}"), 1))
        });
        let answers = join_all(rivals).await;
        let won = answers.into_iter().filter_map(Result::unwrap).count();
        assert_eq!(won, 23);
        let wallet = other.get_wallet(&scope, &user).await.unwrap().unwrap();
        assert_eq!((wallet.balance, wallet.entry_count), (0, 24));
    }
}

/// Both processes send every debit, and the tail is archived many times meanwhile.
#[tokio::test(flavor = "multi_thread")]
async fn the_same_debits_from_two_processes_count_once() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    wallet_of_alice(&database, 1_000).await;
    let scope = scope();
    let (ours, theirs) = (&database.store, &other);
    let writers = (0..16).flat_map(|writer| [(writer, ours), (writer, theirs)]);
    let answers = join_all(writers.map(|(writer, store)| {
        let scope = &scope;
        async move {
            let mut answers = Vec::new();
            for n in 0..20 {
                let debit = entry(format!("{writer}-{n}"), 2);
                answers.push(store.debit(scope, &alice(), debit).await.unwrap());
            }
            answers
        }
    }))
    .await;
    for pair in answers.chunks(2) {
        for (ours, theirs) in pair[0].iter().zip(&pair[1]) {
            assert_eq!(ours.record, theirs.record);
            assert_ne!(ours.outcome, theirs.outcome, "one of them has stored it");
        }
    }
    assert_holds(&database, 1_000 - 16 * 20 * 2, 321).await;
}

#[tokio::test]
async fn an_acknowledgement_lost_once_or_twice_changes_the_wallet_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    proxy.lose_replies("insert", 1);
    wallet_of_alice(&database, 100).await;
    assert_eq!(proxy.lost(), 1);
    let mut entry_count = 1;
    for times in [1, 2] {
        proxy.lose_replies("findAndModify", times);
        let change = entry(format!("debit {times}"), 10);
        let debit = database.debit(&scope(), &alice(), change.clone()).await.unwrap();
        assert_eq!(proxy.lost(), times);
        entry_count += 1;
        let balance = 110 - 10 * i64::try_from(entry_count).unwrap();
        assert_eq!(debit.balance, balance);
        // The retry of a call is no repeat.
        assert_eq!(debit.outcome, Outcome::Stored);
        let again = database.debit(&scope(), &alice(), change).await.unwrap();
        assert_eq!((again.record, again.outcome), (debit.record, Outcome::Duplicate));
        assert_holds(&database, balance, entry_count).await;
    }
}

/// The first attempt takes the last tokens and its acknowledgement is lost. The retry must not be
/// refused.
#[tokio::test]
async fn a_retry_of_a_debit_of_the_last_tokens_is_not_refused() {
    let (_server, proxy, database) = database_behind_proxy().await;
    wallet_of_alice(&database, 10).await;
    proxy.lose_replies("findAndModify", 2);
    let debit = database.try_debit(&scope(), &alice(), entry("all", 10)).await.unwrap();
    assert_eq!((proxy.lost(), debit.map(|entry| entry.balance)), (2, Some(0)));
    assert_holds(&database, 0, 2).await;
}

/// Acknowledgements of the archiving writes are lost as well.
#[tokio::test(flavor = "multi_thread")]
async fn acknowledgements_lost_during_archiving_lose_no_entry() {
    let (_server, proxy, database) = database_behind_proxy().await;
    wallet_of_alice(&database, 1_000).await;
    for (round, command) in ["insert", "update", "insert", "update"].into_iter().enumerate() {
        proxy.lose_replies(command, 2);
        let scope = scope();
        let debits = (0..80).map(|n| entry(format!("{round}-{n}"), 1));
        let user = alice();
        let debits = debits.map(|debit| database.debit(&scope, &user, debit));
        for answer in join_all(debits).await {
            answer.unwrap();
        }
    }
    assert_holds(&database, 1_000 - 320, 321).await;
}

/// One process wrote lines and stopped before the cut; another process already has some of these lines.
#[tokio::test]
async fn lines_left_by_a_crash_are_reused() {
    let database = Database::create().await;
    wallet_of_alice(&database, 100).await;
    for n in 1..10 {
        database.debit(&scope(), &alice(), entry(format!("{n}"), 1)).await.unwrap();
    }
    assert_eq!(lines(&database).await, [] as [i64; 0]);
    let page = database.list_wallet_entries(&scope(), &alice(), 100, None).await.unwrap();
    for entry in page.entries.iter().filter(|entry| entry.sequence % 3 != 1) {
        database.insert("wallet_entries", line(entry)).await;
    }
    assert_holds(&database, 91, 10).await;
    for n in 10..100 {
        database.debit(&scope(), &alice(), entry(format!("{n}"), 1)).await.unwrap();
    }
    assert_holds(&database, 1, 100).await;
    for n in [1, 2, 3, 50, 99] {
        let again = database.debit(&scope(), &alice(), entry(format!("{n}"), 1)).await.unwrap();
        assert_eq!(again.sequence, n);
    }
    let lines = lines(&database).await;
    let expected: Vec<i64> = (0..).take(lines.len()).collect();
    assert!(lines.len() >= 32, "only {} entries have lines", lines.len());
    assert_eq!(lines, expected);
}

fn line(entry: &records::WalletEntry) -> Document {
    doc! {
        "_id": { "app_id": "acme_corp", "user_id": "alice", "entry_id": entry.entry_id.as_str() },
        "app_id": "acme_corp",
        "user_id": "alice",
        "sequence": i64::try_from(entry.sequence).unwrap(),
        "balance": entry.balance,
        "schema_version": 1_i64,
        "entry_id": entry.entry_id.as_str(),
        "kind": entry.kind.as_str(),
        "amount": entry.amount,
        "reason": bson::Bson::Null,
        "created_at": bson::DateTime::from_chrono(entry.created_at),
    }
}

/// Callers of one process are cancelled at random times. They leave nothing in the wallet for which
/// another process waits.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_callers_block_no_other_process() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    other.ping().await.unwrap();
    wallet_of_alice(&database, 1_000).await;
    for n in 0..100_u32 {
        let store = database.store.clone();
        let debit = entry(format!("given up {n}"), 1);
        let giving_up =
            tokio::spawn(async move { store.debit(&scope(), &alice(), debit).await.map(drop) });
        tokio::time::sleep(Duration::from_micros(u64::from(n) * 60)).await;
        giving_up.abort();
    }
    let (scope, alice) = (scope(), alice());
    let debit = other.debit(&scope, &alice, entry("last", 1));
    tokio::time::timeout(Duration::from_secs(5), debit).await.unwrap().unwrap();
    for n in 0..100_u32 {
        let debit = entry(format!("given up {n}"), 1);
        other.debit(&scope, &alice, debit).await.unwrap();
    }
    assert_holds(&other, 1_000 - 101, 102).await;
}

/// A running command completes without its caller. If it were aborted, its connection would be
/// closed, and the next call would have to open a new one.
#[tokio::test(flavor = "multi_thread")]
async fn cancelled_callers_close_no_connection() {
    const POOL: &str = "reprise_mongo_pool_connections";
    let (server, database) = database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    wallet_of_alice(&database, 1_000).await;
    let slow = slow("findAndModify", 1_000);
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 20 }, slow).await;
    let (scope, alice) = (scope(), alice());
    let debit = |n: u32| database.debit(&scope, &alice, entry(format!("given up {n}"), 1));
    let giving_up = (0..20).map(|n| tokio::time::timeout(Duration::from_millis(500), debit(n)));
    assert!(join_all(giving_up).await.iter().all(Result::is_err), "the updates were not slow");
    assert!(point.off().await >= 1);
    database.debit(&scope, &alice, entry("last", 1)).await.unwrap();
    until("the pool", async || count(&database.store, &format!("{POOL}_in_use"), &[]) == 0).await;
    assert_eq!(count(&database.store, &format!("{POOL}_closed_total"), &[]), 0);
    for n in 0..20 {
        debit(n).await.unwrap();
    }
    assert_holds(&database, 1_000 - 21, 22).await;
}

/// The caller is cancelled while its wallet is read. There is only one connection, so if the update
/// were sent, it would precede that of the next debit.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_a_waiting_caller_is_not_begun() {
    let (server, mut database) = database().await;
    wallet_of_alice(&database, 10).await;
    database.options.max_pool_size = 1;
    let store = MongoStore::connect(&database.options).await.unwrap();
    store.ping().await.unwrap();
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let slow = slow("find", 600);
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, slow).await;
    let (scope, alice) = (scope(), alice());
    let debit = store.debit(&scope, &alice, entry("given up", 1));
    let given_up = tokio::time::timeout(Duration::from_millis(300), debit).await;
    assert!(given_up.is_err(), "{given_up:?}");
    store.debit(&scope, &alice, entry("last", 1)).await.unwrap();
    assert!(point.off().await >= 1);
    assert_holds(&store, 9, 2).await;
}

fn slow(command: &str, milliseconds: i64) -> Document {
    doc! {
        "failCommands": [command], "appName": "under-test",
        "blockConnection": true, "blockTimeMS": milliseconds,
    }
}

#[tokio::test]
async fn a_wallet_of_a_newer_version_is_not_changed() {
    let database = Database::create().await;
    wallet_of_alice(&database, 10).await;
    let wallets = database.raw.collection::<RawDocumentBuf>("wallets");
    let newer = doc! { "$set": { "schema_version": 99 } };
    wallets.update_one(doc! {}, newer).await.unwrap();
    let before = database.all("wallets").await;
    let (store, scope) = (&database.store, &scope());
    for refusal in [
        store.get_wallet(scope, &alice()).await.map(drop).unwrap_err(),
        store.ensure_wallet(scope, &alice(), 1).await.map(drop).unwrap_err(),
        store.credit(scope, &alice(), entry("e", 1)).await.map(drop).unwrap_err(),
        store.debit(scope, &alice(), entry("e", 1)).await.map(drop).unwrap_err(),
        store.list_wallet_entries(scope, &alice(), 1, None).await.map(drop).unwrap_err(),
        store.list_wallets(scope, 1, None).await.map(drop).unwrap_err(),
    ] {
        assert!(matches!(refusal, StoreError::UnsupportedVersion { found: 99, .. }), "{refusal:?}");
    }
    assert_eq!(database.all("wallets").await, before);
    let broken = doc! { "$set": { "schema_version": 1, "last_sequence": 7_i64 } };
    wallets.update_one(doc! {}, broken).await.unwrap();
    let refusal = store.get_wallet(scope, &alice()).await.unwrap_err();
    assert!(matches!(&refusal, StoreError::Corrupt { field, .. } if field == "last_sequence"));
}
