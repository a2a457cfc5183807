use bson::{Bson, DateTime, Document, RawDocument, doc};
use records::{AppId, EntryId, EntryKind, Scope, UserId, Wallet, WalletEntry};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::{WALLET_ENTRIES, WALLETS};
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::{FieldError, read_document, read_record};
use crate::mongo::documents::word::StoredName;

/// A wallet with its newest entries.
#[derive(Debug)]
pub(crate) struct StoredWallet {
    pub(crate) wallet: Wallet,
    /// The sequence of the first entry in `tail`. Older entries are archived as lines.
    pub(crate) first_sequence: u64,
    /// The newest entries, oldest first. They may have been archived already.
    pub(crate) tail: Vec<WalletEntry>,
}

/// Returns the id of a wallet.
pub(crate) fn wallet_id(app_id: &AppId, user_id: impl Into<Bson>) -> Document {
    doc! { "app_id": app_id.as_str(), "user_id": user_id }
}

/// Returns the filter for one wallet.
pub(crate) fn wallet_filter(scope: &Scope, user_id: &UserId) -> Document {
    doc! { "_id": wallet_id(&scope.app_id, user_id.as_str()) }
}

/// Returns the filter for the wallets of an app whose users come after `after`.
pub(crate) fn wallets_after(app_id: &AppId, after: Option<&UserId>) -> Document {
    let start = wallet_id(app_id, after.map_or("", UserId::as_str));
    doc! { "_id": { "$gt": start, "$lt": wallet_id(app_id, Bson::MaxKey) } }
}

/// Returns the id of the line of an entry.
pub(crate) fn line_id(scope: &Scope, user_id: &UserId, entry_id: &str) -> Document {
    let (app_id, user_id) = (scope.app_id.as_str(), user_id.as_str());
    doc! { "app_id": app_id, "user_id": user_id, "entry_id": entry_id }
}

/// A stored wallet with its newest entries.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WalletDocument {
    #[serde(rename = "_id")]
    id: WalletKey,
    balance: i64,
    first_sequence: u64,
    last_sequence: u64,
    entries: Vec<EntryDocument>,
    created_at: DateTime,
    last_updated_at: DateTime,
    schema_version: i64,
}

#[derive(Debug, Serialize, Deserialize)]
struct WalletKey {
    app_id: AppId,
    user_id: UserId,
}

/// An entry in its wallet. Its position gives its sequence, and the later entries give its balance.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct EntryDocument {
    entry_id: EntryId,
    kind: StoredName<EntryKind>,
    amount: i64,
    reason: Option<String>,
    created_at: DateTime,
}

/// A line: an archived entry in a separate document.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct LineDocument {
    #[serde(rename = "_id")]
    id: LineKey,
    app_id: AppId,
    user_id: UserId,
    sequence: u64,
    balance: i64,
    schema_version: i64,
    entry_id: EntryId,
    kind: StoredName<EntryKind>,
    amount: i64,
    reason: Option<String>,
    created_at: DateTime,
}

#[derive(Debug, Serialize, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names are stored")]
struct LineKey {
    app_id: AppId,
    user_id: UserId,
    entry_id: EntryId,
}

impl WalletDocument {
    /// Creates the document of a new wallet. `initial` is the entry of its initial balance, if there is one.
    pub(crate) fn new(wallet: &Wallet, initial: Option<&WalletEntry>) -> Self {
        Self {
            id: WalletKey { app_id: wallet.app_id.clone(), user_id: wallet.user_id.clone() },
            balance: wallet.balance,
            first_sequence: 0,
            last_sequence: wallet.entry_count,
            entries: initial.map(EntryDocument::from).into_iter().collect(),
            created_at: DateTime::from_chrono(wallet.created_at),
            last_updated_at: DateTime::from_chrono(wallet.last_updated_at),
            schema_version: SCHEMA_VERSION,
        }
    }

    /// Creates the document of a wallet whose entries below `first_sequence` are archived.
    pub(crate) fn with_tail(
        wallet: &Wallet,
        first_sequence: u64,
        tail: impl Iterator<Item = WalletEntry>,
    ) -> Self {
        let entries = tail.map(|entry| EntryDocument::from(&entry)).collect();
        Self { first_sequence, entries, ..Self::new(wallet, None) }
    }
}

impl From<&WalletEntry> for EntryDocument {
    fn from(entry: &WalletEntry) -> Self {
        Self {
            entry_id: entry.entry_id.clone(),
            kind: StoredName(entry.kind),
            amount: entry.amount,
            reason: entry.reason.clone(),
            created_at: DateTime::from_chrono(entry.created_at),
        }
    }
}

impl LineDocument {
    /// Creates the line of an entry.
    pub(crate) fn new(wallet: &Wallet, entry: &WalletEntry) -> Self {
        let Wallet { app_id, user_id, .. } = wallet;
        let EntryDocument { entry_id, kind, amount, reason, created_at } = entry.into();
        let id = LineKey {
            app_id: app_id.clone(),
            user_id: user_id.clone(),
            entry_id: entry_id.clone(),
        };
        Self {
            id,
            app_id: app_id.clone(),
            user_id: user_id.clone(),
            sequence: entry.sequence,
            balance: entry.balance,
            schema_version: SCHEMA_VERSION,
            entry_id,
            kind,
            amount,
            reason,
            created_at,
        }
    }
}

impl EntryDocument {
    fn record(self, sequence: u64, balance: i64) -> WalletEntry {
        WalletEntry {
            entry_id: self.entry_id,
            sequence,
            kind: self.kind.0,
            amount: self.amount,
            balance,
            reason: self.reason,
            created_at: self.created_at.to_chrono(),
        }
    }
}

impl From<LineDocument> for WalletEntry {
    fn from(line: LineDocument) -> Self {
        let LineDocument { sequence, balance, entry_id, kind, amount, reason, created_at, .. } =
            line;
        EntryDocument { entry_id, kind, amount, reason, created_at }.record(sequence, balance)
    }
}

impl TryFrom<WalletDocument> for StoredWallet {
    type Error = FieldError;

    fn try_from(document: WalletDocument) -> Result<Self, FieldError> {
        let wallet = Wallet {
            app_id: document.id.app_id,
            user_id: document.id.user_id,
            balance: document.balance,
            entry_count: document.last_sequence,
            created_at: document.created_at.to_chrono(),
            last_updated_at: document.last_updated_at.to_chrono(),
        };
        let first_sequence = document.first_sequence;
        let entries = document.entries.into_iter().zip(first_sequence..);
        let mut tail: Vec<_> = entries.map(|(entry, sequence)| entry.record(sequence, 0)).collect();
        if first_sequence.checked_add(tail.len() as u64) != Some(wallet.entry_count) {
            return Err(FieldError::new("last_sequence"));
        }
        // The balance after an entry is the current balance without the amounts of all later entries.
        let mut balance = wallet.balance;
        for entry in tail.iter_mut().rev() {
            entry.balance = balance;
            balance = balance.saturating_sub(entry.amount);
        }
        Ok(Self { wallet, first_sequence, tail })
    }
}

/// Reads a wallet.
pub(crate) fn stored_wallet(raw: &RawDocument) -> Result<StoredWallet, StoreError> {
    read_record::<WalletDocument, _>(WALLETS, raw)
}

/// Reads a line.
pub(crate) fn line_record(raw: &RawDocument) -> Result<WalletEntry, StoreError> {
    read_record::<LineDocument, _>(WALLET_ENTRIES, raw)
}

/// Returns the app and the person of a line.
pub(crate) fn line_owner(raw: &RawDocument) -> Result<(AppId, UserId), StoreError> {
    let line: LineDocument = read_document(WALLET_ENTRIES, raw)?;
    Ok((line.app_id, line.user_id))
}
