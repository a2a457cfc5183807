use bson::{Bson, DateTime, Document, RawDocument, doc};
use records::{AppId, EntryKind, Scope, UserId, Wallet, WalletEntry};

use crate::StoreError;
use crate::mongo::documents::fields::Fields;
use crate::mongo::documents::{SCHEMA_VERSION, WALLET_ENTRIES, WALLETS, counter};

/// A wallet with its newest entries.
#[derive(Debug)]
pub(crate) struct StoredWallet {
    pub(crate) wallet: Wallet,
    /// The sequence of the first of the entries here; those below have lines.
    pub(crate) first_sequence: u64,
    /// The entries that need not have lines yet, oldest first.
    pub(crate) tail: Vec<WalletEntry>,
}

/// Returns the id of a wallet.
pub(crate) fn wallet_id(app_id: &AppId, user_id: impl Into<Bson>) -> Document {
    doc! { "app_id": app_id.as_str(), "user_id": user_id }
}

/// Returns a filter for a wallet.
pub(crate) fn one_wallet(scope: &Scope, user_id: &UserId) -> Document {
    doc! { "_id": wallet_id(&scope.app_id, user_id.as_str()) }
}

/// Returns a filter for the wallets of an app, those after that of a user.
pub(crate) fn wallets_after(app_id: &AppId, after: Option<&UserId>) -> Document {
    let start = wallet_id(app_id, after.map_or("", UserId::as_str));
    doc! { "_id": { "$gt": start, "$lt": wallet_id(app_id, Bson::MaxKey) } }
}

/// Returns the document of a wallet that is created, with the entry that fills it.
pub(crate) fn wallet_document(wallet: &Wallet, initial: Option<&WalletEntry>) -> Document {
    doc! {
        "_id": wallet_id(&wallet.app_id, wallet.user_id.as_str()),
        "balance": wallet.balance,
        "first_sequence": 0_i64,
        "last_sequence": counter(wallet.entry_count),
        "entries": initial.map(tail_document).into_iter().collect::<Vec<_>>(),
        "created_at": DateTime::from_chrono(wallet.created_at),
        "last_updated_at": DateTime::from_chrono(wallet.last_updated_at),
        "schema_version": SCHEMA_VERSION,
    }
}

/// Returns an entry as it stands in its wallet: its place there says the rest.
pub(crate) fn tail_document(entry: &WalletEntry) -> Document {
    doc! {
        "entry_id": entry.entry_id.as_str(),
        "kind": entry.kind.as_str(),
        "amount": entry.amount,
        "reason": entry.reason.as_deref(),
        "created_at": DateTime::from_chrono(entry.created_at),
    }
}

/// Returns the id of an entry's line.
pub(crate) fn line_id(scope: &Scope, user_id: &UserId, entry_id: &str) -> Document {
    let (app_id, user_id) = (scope.app_id.as_str(), user_id.as_str());
    doc! { "app_id": app_id, "user_id": user_id, "entry_id": entry_id }
}

/// Returns the line of an entry.
pub(crate) fn line_document(wallet: &Wallet, entry: &WalletEntry) -> Document {
    let scope = Scope::service(wallet.app_id.clone());
    let mut document = doc! {
        "_id": line_id(&scope, &wallet.user_id, entry.entry_id.as_str()),
        "app_id": wallet.app_id.as_str(),
        "user_id": wallet.user_id.as_str(),
        "sequence": counter(entry.sequence),
        "balance": entry.balance,
        "schema_version": SCHEMA_VERSION,
    };
    document.extend(tail_document(entry));
    document
}

/// Reads a wallet.
pub(crate) fn stored_wallet(raw: &RawDocument) -> Result<StoredWallet, StoreError> {
    let name = name_in_errors(raw);
    let fields = Fields::open(WALLETS, &name, raw)?;
    let id = fields.inside(fields.document("_id")?);
    let wallet = Wallet {
        app_id: id.parsed("app_id")?,
        user_id: id.parsed("user_id")?,
        balance: fields.integer("balance")?,
        entry_count: fields.count("last_sequence")?,
        created_at: fields.time("created_at")?,
        last_updated_at: fields.time("last_updated_at")?,
    };
    let first_sequence = fields.count("first_sequence")?;
    let mut tail = Vec::new();
    for (entry, sequence) in fields.documents("entries")?.zip(first_sequence..) {
        tail.push(entry_record(&entry?, sequence, 0)?);
    }
    if first_sequence.checked_add(tail.len() as u64) != Some(wallet.entry_count) {
        return Err(fields.corrupt("last_sequence", None));
    }
    // An entry's place says how much came after it, and so what the balance was then.
    let mut balance = wallet.balance;
    for entry in tail.iter_mut().rev() {
        entry.balance = balance;
        balance = balance.saturating_sub(entry.amount);
    }
    Ok(StoredWallet { wallet, first_sequence, tail })
}

/// Reads a line.
pub(crate) fn line_record(raw: &RawDocument) -> Result<WalletEntry, StoreError> {
    let name = name_in_errors(raw);
    let fields = Fields::open(WALLET_ENTRIES, &name, raw)?;
    entry_record(&fields, fields.count("sequence")?, fields.integer("balance")?)
}

fn entry_record(
    fields: &Fields<'_>,
    sequence: u64,
    balance: i64,
) -> Result<WalletEntry, StoreError> {
    Ok(WalletEntry {
        entry_id: fields.parsed("entry_id")?,
        sequence,
        kind: fields.field("kind")?.one_of(EntryKind::ALL, |kind| kind.as_str())?,
        amount: fields.integer("amount")?,
        balance,
        reason: fields.field("reason")?.optional_string()?,
        created_at: fields.time("created_at")?,
    })
}

fn name_in_errors(raw: &RawDocument) -> String {
    raw.get_document("_id").map_or_else(|_| "(unreadable)".to_owned(), |id| format!("{id:?}"))
}
