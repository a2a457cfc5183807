use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{Actor, AppId, ChatId, ChatSession, Due, Hold, Scope};

use crate::StoreError;

/// Does what retention says: removes everything that was said in chats, for good, or archives chats.
///
/// Retention is no promise to callers but to the people whose chats they are, so these are calls of operators. They find
/// deleted chats.
#[async_trait]
pub trait Purges: Send + Sync {
    /// Purges a chat: what was said in it is gone, its id stays taken, and its numbers stay in the statistics. Forks keep
    /// what they share with it; that goes with the last of them.
    ///
    /// Returns whether this call has purged the chat. Safe to repeat: with the rights of a service, a chat that was purged
    /// is found, and nothing changes. A chat under hold is [`ChatHeld`](StoreError::ChatHeld). With `due`, the chat is
    /// purged only if it has been due for that reason since that time, and never for [`Inactive`](Due::Inactive);
    /// otherwise nothing changes.
    ///
    /// The call decides in one step, from which on the chat exists for no call. Then it removes the records. If it breaks
    /// off, [`finish_purges`](Self::finish_purges) goes on.
    async fn purge_chat(
        &self,
        actor: &Actor,
        scope: &Scope,
        chat_id: &ChatId,
        due: Option<(Due, DateTime<Utc>)>,
    ) -> Result<bool, StoreError>;

    /// Lists chats of an app that have been due for a reason since a time, those that are due the longest first.
    ///
    /// Chats that have been due for one of the `others`, too, since the time of that one, are left out.
    async fn list_due(
        &self,
        app_id: &AppId,
        due: Due,
        before: DateTime<Utc>,
        others: &[(Due, DateTime<Utc>)],
        limit: usize,
    ) -> Result<Vec<ChatSession>, StoreError>;

    /// Counts the chats that [`list_due`](Self::list_due) lists without a limit.
    async fn count_due(
        &self,
        app_id: &AppId,
        due: Due,
        before: DateTime<Utc>,
        others: &[(Due, DateTime<Utc>)],
    ) -> Result<u64, StoreError>;

    /// Archives a chat, if it is active and has been [inactive](Due::Inactive) since a time. Returns whether it was archived.
    ///
    /// Archiving is no activity: the retention of the chat goes on counting from the last one. As always, a new message makes
    /// the chat active. Safe to repeat.
    async fn archive_inactive(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
        inactive_since: DateTime<Utc>,
    ) -> Result<bool, StoreError>;

    /// Removes once more what calls that were under way have stored in purged chats, of up to `limit` chats that were
    /// purged [a while](PURGED_AGAIN_AFTER_MINUTES) ago. Returns how many chats it has finished.
    async fn finish_purges(&self, limit: usize) -> Result<usize, StoreError>;

    /// Removes the texts of deleted messages that no chat shows any more, of up to `limit` messages that are due to be looked
    /// at, and returns how many it has looked at.
    ///
    /// Forks share the messages of their source. So a message that is deleted in one chat keeps its text as long as another
    /// one shows it ([`Message::is_text_kept`](records::Message::is_text_kept)).
    async fn remove_deleted_texts(&self, limit: usize) -> Result<usize, StoreError>;

    /// Returns the first app after `after` that has chats, in the order of ids.
    async fn next_app_with_chats(&self, after: Option<&AppId>)
    -> Result<Option<AppId>, StoreError>;

    /// Puts a chat under hold, or lifts the hold: `None`. A chat under hold is never purged. Safe to repeat.
    async fn set_hold(
        &self,
        actor: &Actor,
        app_id: &AppId,
        chat_id: &ChatId,
        reason: Option<&str>,
    ) -> Result<Option<Hold>, StoreError>;

    /// Lists the chats of an app that are under hold, also the deleted ones, after `after` and in the order of their ids.
    ///
    /// `limit` must be at least 1.
    async fn list_holds(
        &self,
        app_id: &AppId,
        limit: usize,
        after: Option<&ChatId>,
    ) -> Result<HoldPage, StoreError>;
}

/// A page of the chats of an app that are under hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HoldPage {
    /// The chats, each with its hold.
    pub holds: Vec<(ChatId, Hold)>,
    /// The chat after which the next page begins, if there is a next page.
    pub next: Option<ChatId>,
}

impl HoldPage {
    /// Makes a page of the first `limit` holds.
    pub(crate) fn cut(mut holds: Vec<(ChatId, Hold)>, limit: usize) -> Self {
        let next = super::cut(&mut holds, limit).map(|(chat_id, _)| chat_id.clone());
        Self { holds, next }
    }
}

/// How long after a purge its records are removed once more, in minutes: far longer than any call lasts.
pub const PURGED_AGAIN_AFTER_MINUTES: i64 = 10;
