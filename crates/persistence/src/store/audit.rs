use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    Actor, AppId, AuditAction, AuditEntry, AuditEntryId, ChatId, Pseudonym, Scope, UserId,
};

use crate::StoreError;

/// Stores the audit log.
///
/// A call that manages or administers something writes its entry itself, in the same transaction: either both are
/// stored, or none. A call that changes nothing writes no entry. Entries are never changed, and only the expiry of the
/// whole log deletes them.
///
/// An entry names no person. It holds a [`Pseudonym`], which only the key of that person in that app ties to the
/// person. The key is made when it is first needed, and [`destroy_pseudonym`](Self::destroy_pseudonym) destroys it.
#[async_trait]
pub trait AuditLog: Send + Sync {
    /// Records that the caller reads a chat, or the list of chats of the app. Call this before the answer is sent, and
    /// send no answer if it fails.
    ///
    /// A repeat of the same caller from the same network within a minute of the clock writes no further entry. A chat
    /// that the scope does not permit is refused, and no entry is written.
    async fn record_chat_read(
        &self,
        scope: &Scope,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Result<(), StoreError>;

    /// Records that an operator reads an app of the registry, the list of apps, or the chats of an app that are under hold. Repeats are treated as those of
    /// [`record_chat_read`](Self::record_chat_read).
    async fn record_registry_read(
        &self,
        actor: &Actor,
        app_id: Option<&AppId>,
        action: AuditAction,
    ) -> Result<(), StoreError>;

    /// Records that an operator does something that is not one transaction, or reads something that is not of the
    /// registry of apps. Call this before the work begins or the answer is sent, and do neither if it fails.
    ///
    /// Each call writes one entry.
    async fn record_action(
        &self,
        actor: &Actor,
        app_id: Option<&AppId>,
        chat_id: Option<&ChatId>,
        action: AuditAction,
    ) -> Result<(), StoreError>;

    /// Lists the entries that a filter admits, newest first, after `after`. For operators; takes no scope.
    ///
    /// `limit` must be at least 1.
    async fn list_audit_entries(
        &self,
        filter: &AuditFilter,
        limit: usize,
        after: Option<&AuditCursor>,
    ) -> Result<AuditPage, StoreError>;

    /// Returns the pseudonym of a person in an app; `None` if there is no key. Without an app: the pseudonym in the
    /// entries that name no app.
    async fn get_pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<Option<Pseudonym>, StoreError>;

    /// Destroys the key of a person in an app: the entries about the person stay, and are anonymous from then on.
    /// Idempotent.
    ///
    /// Later actions of the person get a new pseudonym.
    async fn destroy_pseudonym(
        &self,
        app_id: Option<&AppId>,
        user_id: &UserId,
    ) -> Result<(), StoreError>;
}

/// Which entries of the audit log to list: those that every given field admits.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuditFilter {
    /// Only entries of this app.
    pub app_id: Option<AppId>,
    /// Only entries about this chat.
    pub chat_id: Option<ChatId>,
    /// Only entries whose actor or subject is this person.
    pub person: Option<Pseudonym>,
    /// Only entries of this action.
    pub action: Option<AuditAction>,
    /// Only entries at or after this time.
    pub since: Option<DateTime<Utc>>,
    /// Only entries before this time.
    pub until: Option<DateTime<Utc>>,
}

impl AuditFilter {
    /// Returns whether the filter admits an entry.
    pub(crate) fn admits(&self, entry: &AuditEntry) -> bool {
        let is_about = |person| entry.actor == Some(person) || entry.subject == Some(person);
        self.app_id.as_ref().is_none_or(|app_id| entry.app_id.as_ref() == Some(app_id))
            && self.chat_id.as_ref().is_none_or(|chat_id| entry.chat_id.as_ref() == Some(chat_id))
            && self.person.is_none_or(is_about)
            && self.action.is_none_or(|action| entry.action == action)
            && self.since.is_none_or(|since| entry.at >= since)
            && self.until.is_none_or(|until| entry.at < until)
    }
}

/// The entry after which a page begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditCursor {
    /// The time of the entry.
    pub at: DateTime<Utc>,
    /// The id of the entry.
    pub entry_id: AuditEntryId,
}

/// A page of the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditPage {
    /// The entries, newest first.
    pub entries: Vec<AuditEntry>,
    /// Where the next page begins, if there is one.
    pub next: Option<AuditCursor>,
}

impl AuditPage {
    /// Makes a page of the first `limit` entries.
    pub(crate) fn cut(mut entries: Vec<AuditEntry>, limit: usize) -> Self {
        let last = super::cut(&mut entries, limit);
        let next = last.map(|last| AuditCursor { at: last.at, entry_id: last.entry_id.clone() });
        Self { entries, next }
    }
}
