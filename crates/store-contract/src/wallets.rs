//! Wallets: balances, entries, repeats and races.

use std::sync::Arc;

use records::EntryKind::{Credit, Debit, Initial};
use records::InvalidKind::Value as NotAdmitted;
use records::{NewWalletEntry, UserId, Wallet};

use super::fixture::{
    TestWallet, a_moment_passes, assert_invalid, assert_refused, new_entry, race, some_scope,
};
use persistence::{Outcome, Store, StoreError, Written};

pub async fn an_unknown_wallet_is_none_and_accepts_no_change(store: Arc<dyn Store>) {
    let wallet = TestWallet::unknown(&store);
    let user_id = wallet.user_id.clone();
    let not_found = StoreError::WalletNotFound(user_id.clone());
    assert_refused(wallet.credit("e", 1).await, &not_found);
    let empty = StoreError::InsufficientTokens { user_id, balance: 0, amount: 1 };
    assert_refused(wallet.debit("e", 1).await, &empty);
    assert_eq!(wallet.try_debit("e", 1).await.unwrap(), None);
    let listing = store.list_wallet_entries(&wallet.scope, &wallet.user_id, 10, None);
    assert_refused(listing.await, &not_found);
    assert_eq!(wallet.get().await.unwrap(), None);
}

pub async fn a_new_wallet_holds_its_initial_balance_as_its_first_entry(store: Arc<dyn Store>) {
    let wallet = TestWallet::unknown(&store);
    let created = wallet.ensure(100).await.unwrap();
    assert_eq!((&created.app_id, &created.user_id), (&wallet.scope.app_id, &wallet.user_id));
    assert_eq!((created.balance, created.entry_count), (100, 1));
    assert_eq!(created.last_updated_at, created.created_at);
    assert_eq!(wallet.wallet().await, created);
    let entries = wallet.entries(10).await;
    let [first] = &entries[..] else { panic!("{entries:?}") };
    assert_eq!((first.kind, first.sequence), (Initial, 0));
    assert_eq!((first.amount, first.balance), (100, 100));
    assert_eq!(first.created_at, created.created_at);
}

pub async fn the_initial_balance_counts_only_at_the_creation(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 100).await;
    wallet.debit("e", 30).await.unwrap();
    let before = wallet.wallet().await;
    a_moment_passes().await;
    for initial_balance in [100, 0, 7] {
        assert_eq!(wallet.ensure(initial_balance).await.unwrap(), before);
    }
    let empty = TestWallet::create(&store, 0).await;
    assert_eq!(empty.ensure(100).await.unwrap().balance, 0);
    assert_eq!(empty.entries(10).await, []);
}

pub async fn every_change_is_an_entry_and_the_balance_is_their_sum(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 10).await;
    a_moment_passes().await;
    let reason = Some("top-up $ü".to_owned());
    let new = NewWalletEntry { reason: reason.clone(), ..new_entry("first", 5) };
    let credit = store.credit(&wallet.scope, &wallet.user_id, new).await.unwrap();
    assert_eq!(credit.outcome, Outcome::Stored);
    assert_eq!((credit.entry_id.as_str(), credit.sequence), ("first", 1));
    assert_eq!((credit.kind, credit.amount, credit.balance), (Credit, 5, 15));
    assert_eq!(credit.reason, reason);
    assert_eq!(wallet.wallet().await.last_updated_at, credit.created_at);
    let debit = wallet.debit("second", 15).await.unwrap();
    assert_eq!((debit.kind, debit.amount, debit.balance), (Debit, -15, 0));
    assert_eq!((debit.sequence, debit.reason.as_ref()), (2, None));
    assert_eq!(wallet.entries(2).await[..2], [debit, credit.record]);
    wallet.assert_sound().await;
}

pub async fn a_repeat_gets_the_first_answer_and_changes_nothing(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 10).await;
    let credit = wallet.credit("credit", 5).await.unwrap();
    let debit = wallet.debit("debit", 15).await.unwrap();
    let before = wallet.wallet().await;
    a_moment_passes().await;
    assert_eq!(wallet.credit("credit", 5).await.unwrap(), credit);
    assert_eq!(wallet.debit("debit", 15).await.unwrap(), debit);
    assert_eq!(wallet.try_debit("debit", 15).await.unwrap(), Some(debit.clone()));
    let reworded = NewWalletEntry { reason: Some("x".to_owned()), ..new_entry("debit", 15) };
    let again = store.debit(&wallet.scope, &wallet.user_id, reworded).await.unwrap();
    assert_eq!(again, Written { record: debit, outcome: Outcome::Duplicate });
    let again = store.ensure_wallet(&wallet.scope, &wallet.user_id, 10).await.unwrap();
    assert_eq!(again, Written { record: before.clone(), outcome: Outcome::Duplicate });
    assert_eq!(wallet.wallet().await, before);
}

pub async fn a_repeat_is_recognised_after_200_further_changes(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 0).await;
    let first = wallet.credit("first", 1_000).await.unwrap();
    for n in 0..200 {
        wallet.debit(&format!("debit {n}"), 2).await.unwrap();
    }
    assert_eq!(wallet.credit("first", 1_000).await.unwrap(), first);
    let conflict = wallet.debit("first", 1_000).await.unwrap_err();
    assert!(matches!(conflict, StoreError::EntryConflict { .. }), "{conflict:?}");
    for n in [0, 15, 16, 100, 199] {
        let again = wallet.debit(&format!("debit {n}"), 2).await.unwrap();
        assert_eq!((again.sequence, again.balance), (n + 1, 998 - 2 * i64::try_from(n).unwrap()));
    }
    assert_eq!(wallet.wallet().await.balance, 600);
    wallet.assert_sound().await;
}

pub async fn an_entry_id_with_another_amount_or_kind_conflicts(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 100).await;
    wallet.debit("e", 10).await.unwrap();
    let before = wallet.wallet().await;
    let conflict = || StoreError::EntryConflict {
        user_id: wallet.user_id.clone(),
        entry_id: new_entry("e", 1).entry_id,
        kind: "debit",
        amount: 10,
    };
    for (kind, amount) in [(Debit, 11), (Debit, 1_000), (Credit, 10)] {
        assert_refused(wallet.change(kind, "e", amount).await, &conflict());
    }
    assert_refused(wallet.try_debit("e", 9).await, &conflict());
    assert_eq!(wallet.wallet().await, before);
}

pub async fn a_debit_beyond_the_balance_changes_nothing(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 10).await;
    let before = wallet.wallet().await;
    let user_id = wallet.user_id.clone();
    let refusal = StoreError::InsufficientTokens { user_id, balance: 10, amount: 11 };
    assert_refused(wallet.debit("e", 11).await, &refusal);
    assert_eq!(wallet.try_debit("e", 11).await.unwrap(), None);
    assert_eq!(wallet.wallet().await, before);
    assert_eq!(wallet.entries(10).await.len(), 1);
    // A refused change does not use up its id.
    assert_eq!(wallet.debit("e", 10).await.unwrap().balance, 0);
}

pub async fn a_credit_beyond_the_limit_changes_nothing(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, Wallet::MAX_AMOUNT).await;
    let most = Wallet::MAX_BALANCE / Wallet::MAX_AMOUNT;
    for n in 1..most {
        wallet.credit(&format!("{n}"), Wallet::MAX_AMOUNT).await.unwrap();
    }
    let before = wallet.wallet().await;
    assert_eq!(before.balance, Wallet::MAX_BALANCE);
    let refusal = StoreError::BalanceTooLarge {
        user_id: wallet.user_id.clone(),
        balance: Wallet::MAX_BALANCE,
        amount: 1,
        limit: Wallet::MAX_BALANCE,
    };
    assert_refused(wallet.credit("too much", 1).await, &refusal);
    assert_eq!(wallet.wallet().await, before);
    wallet.debit("room", 1).await.unwrap();
    wallet.credit("too much", 1).await.unwrap();
}

pub async fn a_change_past_a_limit_is_invalid(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 10).await;
    for amount in [0, -1, i64::MIN, Wallet::MAX_AMOUNT + 1, i64::MAX] {
        for kind in [Credit, Debit] {
            assert_invalid(wallet.change(kind, "e", amount).await, "/amount", NotAdmitted);
        }
    }
    for initial_balance in [-1, Wallet::MAX_AMOUNT + 1] {
        let ensured = TestWallet::unknown(&store).ensure(initial_balance).await;
        assert_invalid(ensured, "/initial_balance", NotAdmitted);
    }
    let wordy = NewWalletEntry { reason: Some("é".repeat(257)), ..new_entry("e", 1) };
    let credit = store.credit(&wallet.scope, &wallet.user_id, wordy).await;
    assert_invalid(credit, "/reason", NotAdmitted);
    assert_eq!(wallet.wallet().await.entry_count, 1);
}

pub async fn entries_are_listed_newest_first_page_by_page(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 1).await;
    for n in 1..90 {
        wallet.credit(&format!("{n}"), n).await.unwrap();
    }
    let whole = wallet.entries(1_000).await;
    let sequences: Vec<u64> = whole.iter().map(|entry| entry.sequence).collect();
    assert_eq!(sequences, (0..90).rev().collect::<Vec<_>>());
    for limit in [1, 7, 45, 89, 90, 91] {
        assert_eq!(wallet.entries(limit).await, whole, "{limit} at a time");
    }
    let below = store.list_wallet_entries(&wallet.scope, &wallet.user_id, 3, Some(40));
    assert_eq!(below.await.unwrap().entries, whole[50..53]);
    let none = store.list_wallet_entries(&wallet.scope, &wallet.user_id, 3, Some(0));
    let none = none.await.unwrap();
    assert_eq!((none.entries.len(), none.next), (0, None));
}

pub async fn racing_debits_succeed_for_exactly_the_tokens_left(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 20 * 3 + 2).await;
    let rivals = (0..64).map(|n| {
        let wallet = wallet.clone();
        async move { wallet.try_debit(&format!("rival {n}"), 3).await.unwrap() }
    });
    let won: Vec<_> = race(rivals).await.into_iter().flatten().collect();
    assert_eq!(won.len(), 20);
    assert_eq!(wallet.wallet().await.balance, 2);
    let mut balances: Vec<i64> = won.iter().map(|entry| entry.balance).collect();
    balances.sort_unstable();
    assert_eq!(balances, (0..20).map(|n| 2 + 3 * n).collect::<Vec<_>>());
    wallet.assert_sound().await;
}

pub async fn racing_repeats_change_the_wallet_once(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 1_000).await;
    for round in 0..10 {
        let rivals = (0..16).map(|_| {
            let wallet = wallet.clone();
            async move { wallet.debit(&format!("round {round}"), 7).await.unwrap() }
        });
        let answers = race(rivals).await;
        assert!(answers.iter().all(|entry| *entry == answers[0]), "{answers:?}");
    }
    assert_eq!(wallet.wallet().await.balance, 1_000 - 70);
    wallet.assert_sound().await;
}

pub async fn one_of_the_racing_amounts_under_one_id_wins(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 1_000).await;
    let rivals = (1..=16).map(|amount| {
        let wallet = wallet.clone();
        async move { wallet.debit("e", amount).await }
    });
    let (won, lost): (Vec<_>, Vec<_>) = race(rivals).await.into_iter().partition(Result::is_ok);
    assert_eq!((won.len(), lost.len()), (1, 15));
    for refusal in lost {
        assert!(matches!(refusal, Err(StoreError::EntryConflict { .. })), "{refusal:?}");
    }
    wallet.assert_sound().await;
}

pub async fn racing_creations_credit_the_initial_balance_once(store: Arc<dyn Store>) {
    let wallet = TestWallet::unknown(&store);
    let rivals = (0..16).map(|_| {
        let wallet = wallet.clone();
        async move { wallet.ensure(50).await.unwrap() }
    });
    let answers = race(rivals).await;
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    wallet.assert_sound().await;
    assert_eq!(wallet.wallet().await.balance, 50);
}

pub async fn readers_always_see_a_balance_equal_to_the_sum(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 500).await;
    let writers = (0..8).map(|writer| {
        let wallet = wallet.clone();
        async move {
            for n in 0..25 {
                let kind = if n % 3 == 0 { Credit } else { Debit };
                wallet.change(kind, &format!("{writer}-{n}"), 2).await.unwrap();
            }
        }
    });
    let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
    while !writing.is_finished() {
        let seen = wallet.wallet().await;
        let listing = store.list_wallet_entries(
            &wallet.scope,
            &wallet.user_id,
            1_000,
            Some(seen.entry_count),
        );
        let entries = listing.await.unwrap().entries;
        assert_eq!(entries.len() as u64, seen.entry_count);
        assert_eq!(entries.iter().map(|entry| entry.amount).sum::<i64>(), seen.balance);
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
    wallet.assert_sound().await;
}

pub async fn wallets_of_different_users_and_apps_are_independent(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 10).await;
    let other_user = wallet.of("other");
    let other_app = wallet.seen_from(some_scope());
    assert_eq!(other_user.get().await.unwrap(), None);
    assert_eq!(other_app.get().await.unwrap(), None);
    for (other, balance) in [(&other_user, 20), (&other_app, 30)] {
        other.ensure(balance).await.unwrap();
        other.debit("e", 1).await.unwrap();
    }
    wallet.debit("e", 5).await.unwrap();
    for (wallet, balance) in [(&wallet, 5), (&other_user, 19), (&other_app, 29)] {
        assert_eq!(wallet.wallet().await.balance, balance);
        wallet.assert_sound().await;
    }
}

pub async fn a_user_reaches_only_their_own_wallet(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 10).await;
    let own = wallet.seen_by(wallet.user_id.clone());
    assert_eq!(own.wallet().await.balance, 10);
    assert_eq!(own.debit("own", 1).await.unwrap().balance, 9);
    let before = wallet.wallet().await;
    let stranger = wallet.seen_by(UserId::parse("stranger").unwrap());
    let not_found = StoreError::WalletNotFound(wallet.user_id.clone());
    assert_eq!(stranger.get().await.unwrap(), None);
    assert_refused(stranger.ensure(1).await, &not_found);
    assert_refused(stranger.credit("e", 1).await, &not_found);
    assert_refused(stranger.debit("e", 1).await, &not_found);
    assert_refused(stranger.try_debit("e", 1).await, &not_found);
    let listing = store.list_wallet_entries(&stranger.scope, &stranger.user_id, 1, None);
    assert_refused(listing.await, &not_found);
    let listed = store.list_wallets(&stranger.scope, 10, None).await.unwrap();
    assert_eq!(listed.wallets, []);
    let listed = store.list_wallets(&own.scope, 10, None).await.unwrap();
    assert_eq!(listed.wallets, std::slice::from_ref(&before));
    assert_eq!(wallet.wallet().await, before);
}

pub async fn wallets_are_listed_by_user_page_by_page(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 1).await;
    let mut users = vec![wallet.user_id.to_string()];
    for user in ["b", "a", "B", "ü", "\u{10ffff}", "$ne"] {
        wallet.of(user).ensure(1).await.unwrap();
        users.push(user.to_owned());
    }
    TestWallet::create(&store, 1).await;
    users.sort();
    for limit in [1, 3, 7, 8] {
        let (mut listed, mut after) = (Vec::new(), None);
        loop {
            let page = store.list_wallets(&wallet.scope, limit, after.as_ref()).await.unwrap();
            assert!((1..=limit).contains(&page.wallets.len()));
            listed.extend(page.wallets.into_iter().map(|wallet| wallet.user_id.to_string()));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(listed, users, "{limit} at a time");
    }
}

pub async fn every_app_with_wallets_is_found(store: Arc<dyn Store>) {
    assert_eq!(store.next_app_with_wallets(None).await.unwrap(), None);
    let mut apps = Vec::new();
    for _ in 0..3 {
        let wallet = TestWallet::create(&store, 1).await;
        wallet.of("another").ensure(1).await.unwrap();
        apps.push(wallet.scope.app_id);
    }
    apps.sort();
    let mut found = Vec::new();
    while let Some(app_id) = store.next_app_with_wallets(found.last()).await.unwrap() {
        found.push(app_id);
    }
    assert_eq!(found, apps);
}
