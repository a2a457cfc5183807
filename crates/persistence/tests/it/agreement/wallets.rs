use persistence::Store;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use records::{EntryId, NewWalletEntry, Scope, UserId, Wallet};

use super::operation::print;

/// A call about the wallet of a user.
#[derive(Debug, Clone)]
pub(crate) enum WalletCall {
    Ensure(i64),
    Get,
    Credit(NewWalletEntry),
    /// Makes these debits one after another.
    Debit(Vec<NewWalletEntry>),
    ListEntries {
        limit: usize,
        before: Option<u64>,
    },
    /// Lists all wallets, the wallets after the user's, and the apps with wallets.
    List {
        limit: usize,
    },
}

impl WalletCall {
    /// Returns the calls that read everything.
    pub(crate) fn read_everything() -> [Self; 3] {
        [Self::Get, Self::ListEntries { limit: 1_000, before: None }, Self::List { limit: 10 }]
    }

    pub(crate) async fn execute(
        self,
        store: &dyn Store,
        scope: &Scope,
        user_id: &UserId,
    ) -> String {
        match self {
            Self::Ensure(balance) => print(store.ensure_wallet(scope, user_id, balance).await),
            Self::Get => print(store.get_wallet(scope, user_id).await),
            Self::Credit(entry) => print(store.credit(scope, user_id, entry).await),
            Self::Debit(entries) => {
                let mut answers = Vec::new();
                for entry in entries {
                    answers.push(store.debit(scope, user_id, entry).await);
                }
                print(answers)
            }
            Self::ListEntries { limit, before } => {
                print(store.list_wallet_entries(scope, user_id, limit, before).await)
            }
            Self::List { limit } => print((
                store.list_wallets(scope, limit, None).await,
                store.list_wallets(scope, limit, Some(user_id)).await,
                store.next_app_with_wallets(None).await,
                store.next_app_with_wallets(Some(&scope.app_id)).await,
            )),
        }
    }
}

pub(crate) fn wallet_call() -> impl Strategy<Value = WalletCall> {
    let balance = select(vec![0, 10, 100, Wallet::MAX_AMOUNT, -1]);
    let before = prop_oneof![4 => 0..8_u64, 4 => 0..60_u64, 1 => Just(u64::MAX)];
    let limit = || prop_oneof![1..4_usize, 1..100_usize, Just(usize::MAX)];
    prop_oneof![
        3 => balance.prop_map(WalletCall::Ensure),
        4 => entry().prop_map(WalletCall::Credit),
        6 => debits().prop_map(WalletCall::Debit),
        1 => Just(WalletCall::Get),
        3 => (limit(), option::of(before))
            .prop_map(|(limit, before)| WalletCall::ListEntries { limit, before }),
        1 => limit().prop_map(|limit| WalletCall::List { limit }),
    ]
}

/// Generates a few debits, and sometimes enough debits to archive entries.
fn debits() -> impl Strategy<Value = Vec<NewWalletEntry>> {
    let many = (20..50_u32).prop_map(|count| (0..count).map(|n| named(n, 1)).collect());
    prop_oneof![4 => prop::collection::vec(entry(), 1..4), 1 => many]
}

fn entry() -> impl Strategy<Value = NewWalletEntry> {
    let amounts = select(vec![1, 10, 90, Wallet::MAX_AMOUNT, 0, -1, Wallet::MAX_AMOUNT + 1]);
    let reasons = select(vec!["because".to_owned(), "a\0".to_owned(), "x".repeat(257)]);
    prop_oneof![
        // A repeated id mostly has the same amount.
        6 => (0..8_u32).prop_map(|n| named(n, 1)),
        2 => (0..8_u32, amounts).prop_map(|(n, amount)| named(n, amount)),
        1 => (0..8_u32, reasons)
            .prop_map(|(n, reason)| NewWalletEntry { reason: Some(reason), ..named(n, 1) }),
    ]
}

fn named(number: u32, amount: i64) -> NewWalletEntry {
    let entry_id = EntryId::parse(format!("entry_{number}")).unwrap();
    NewWalletEntry { entry_id, amount, reason: None }
}
