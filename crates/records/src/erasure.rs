use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::{AppId, ChatId, Pseudonym, UserId};

/// The erasure of a person from an app: what was erased, and what was left.
///
/// Once it is finished, it names the person no more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Erasure {
    /// The app.
    pub app_id: AppId,
    /// What stands for the person in the audit log, and from now on wherever the person was named.
    pub pseudonym: Pseudonym,
    /// The person, until the erasure is finished.
    pub user_id: Option<UserId>,
    /// When it began.
    pub begun_at: DateTime<Utc>,
    /// When nothing of the person was found any more.
    pub finished_at: Option<DateTime<Utc>>,
    /// How many chats were searched. Each is searched twice.
    pub searched: u64,
    /// How many records were erased or anonymised, by kind.
    pub erased: BTreeMap<String, u64>,
    /// The chats that were left as they are, because they are under hold, or share messages with one that is.
    pub held: Vec<ChatId>,
}

impl Erasure {
    /// What the ids of erased persons begin with; the pseudonym follows.
    pub const PREFIX: &str = "erased_";

    /// Begins the erasure of a person.
    #[must_use]
    pub fn begin(app_id: AppId, user_id: UserId, pseudonym: Pseudonym, now: DateTime<Utc>) -> Self {
        Self {
            app_id,
            pseudonym,
            user_id: Some(user_id),
            begun_at: now,
            finished_at: None,
            searched: 0,
            erased: BTreeMap::new(),
            held: Vec::new(),
        }
    }

    /// Records that a chat was left as it is.
    pub fn leave(&mut self, chat_id: &ChatId) {
        if !self.held.contains(chat_id) {
            self.held.push(chat_id.clone());
        }
    }

    /// Counts erased records.
    pub fn add(&mut self, kind: ErasedKind, count: u64) {
        if count > 0 {
            *self.erased.entry(kind.as_str().to_owned()).or_default() += count;
        }
    }
}

/// The kinds of records that an erasure counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the kinds have the names of the records")]
pub enum ErasedKind {
    AccessKeys,
    Answers,
    Assistants,
    Chats,
    Connections,
    Documents,
    Members,
    Messages,
    Participants,
    Tickets,
    Usages,
    WalletEntries,
    Wallets,
}

impl ErasedKind {
    /// Returns the name in receipts.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AccessKeys => "access_keys",
            Self::Answers => "answers",
            Self::Assistants => "assistants",
            Self::Chats => "chats",
            Self::Connections => "connections",
            Self::Documents => "documents",
            Self::Members => "members",
            Self::Messages => "messages",
            Self::Participants => "participants",
            Self::Tickets => "tickets",
            Self::Usages => "usages",
            Self::WalletEntries => "wallet_entries",
            Self::Wallets => "wallets",
        }
    }
}
