use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    ChatId, ChatSession, ChatStatus, Lifecycle, NewChatSession, Scope, SessionChange, UserId,
    Visibility, WorkflowName,
};

use crate::StoreError;

/// Stores chat sessions.
#[async_trait]
pub trait ChatSessions: Send + Sync {
    /// Creates a chat session: running, without messages, with an empty context snapshot.
    ///
    /// A missing `chat_id` is minted, a missing `cache_seed` is derived from app and chat. If
    /// callers race to create the same id, exactly one wins; the others, and all later callers, get
    /// [`ChatExists`](StoreError::ChatExists) and change nothing. Ids are unique across apps.
    /// [`create_chat_once`](crate::create_chat_once) recognises a repeat.
    async fn create_chat(
        &self,
        scope: &Scope,
        new: NewChatSession,
    ) -> Result<ChatSession, StoreError>;

    /// Returns the chat session, or `None` if the caller does not have the permission of the scope in it.
    async fn get_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<Option<ChatSession>, StoreError>;

    /// Lists chat sessions, newest first by creation, then by id.
    ///
    /// A person lists the chats that are theirs, that they are a member of, and that their team shares; other callers
    /// list every chat of the app.
    ///
    /// `limit` must be at least 1. Pages do not overlap and skip no chat that existed when the
    /// first page was read, because the cursor names a position and not an offset.
    async fn list_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&Cursor>,
    ) -> Result<Page, StoreError>;

    /// Changes the status of the chat to `next`, as [`ChatStatus::may_become`] allows.
    ///
    /// Safe to repeat: a chat that already has the status is returned unchanged, with its times and
    /// duration. A change that is not allowed is
    /// [`IllegalTransition`](StoreError::IllegalTransition). Completing sets `completed_at`.
    /// Completing and failing set `duration_sec`, counted from the creation. Reopening clears both.
    /// Pausing and failing store `reason` as `status_reason`.
    ///
    /// A chat that is paused because it waits for input
    /// ([`InputRequest::PAUSE_REASON`](records::InputRequest::PAUSE_REASON)) and is paused again
    /// gets the new reason, so that an answer does not end that pause.
    async fn set_status(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        next: ChatStatus,
        reason: Option<&str>,
    ) -> Result<ChatSession, StoreError>;

    /// Changes the chat session, also its lifecycle, in every status of its run.
    ///
    /// Safe to repeat: a change after which nothing differs changes nothing. Each other change increments
    /// `session_version`. A scope with `if_match` gets [`Changed`](StoreError::Changed) unless the version is the one that
    /// the caller has seen.
    ///
    /// Deleting ends the lease. From then on the chat is [`ChatNotFound`](StoreError::ChatNotFound) for every call whose
    /// scope does not [find deleted chats](Scope::finds_deleted), appends that race with the deletion included: each is
    /// stored before it, or not at all.
    async fn change_chat(
        &self,
        scope: &Scope,
        chat_id: &ChatId,
        change: SessionChange,
    ) -> Result<ChatSession, StoreError>;
}

/// Selects the chat sessions to list. A field that is `None` does not restrict the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatFilter {
    /// The chats of [`Visibility::App`], whichever user owns them, instead of the caller's own list.
    pub of_app: bool,
    /// Only this workflow.
    pub workflow_name: Option<WorkflowName>,
    /// Only chats started for this user.
    pub user_id: Option<UserId>,
    /// Only chats in this status.
    pub status: Option<ChatStatus>,
    /// Only chats created at or after this time.
    pub created_from: Option<DateTime<Utc>>,
    /// Only chats created before this time.
    pub created_before: Option<DateTime<Utc>>,
    /// Only chats in this lifecycle; without it those that are active or archived. Deleted chats are listed only in a
    /// scope that [finds](Scope::finds_deleted) them.
    pub lifecycle: Option<Lifecycle>,
}

impl ChatFilter {
    /// Returns whether a chat session matches.
    pub fn admits(&self, chat: &ChatSession) -> bool {
        (!self.of_app || chat.visibility == Visibility::App)
            && self.workflow_name.as_ref().is_none_or(|name| *name == chat.workflow_name)
            && self.user_id.as_ref().is_none_or(|user| Some(user) == chat.user_id.as_ref())
            && self.status.is_none_or(|status| status == chat.status)
            && self.created_from.is_none_or(|from| from <= chat.created_at)
            && self.created_before.is_none_or(|before| chat.created_at < before)
            && self.lifecycle.map_or(chat.lifecycle.exists(), |wanted| wanted == chat.lifecycle)
    }
}

/// A position in a list of chat sessions: right after this chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// When the chat was created.
    pub created_at: DateTime<Utc>,
    /// The id of the chat.
    pub chat_id: ChatId,
}

/// A page of chat sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The chat sessions.
    pub chats: Vec<ChatSession>,
    /// The position of the next page, if there is a next page.
    pub next: Option<Cursor>,
}

impl Page {
    /// Makes a page of the first `limit` chat sessions.
    pub(crate) fn cut(mut chats: Vec<ChatSession>, limit: usize) -> Self {
        let last = super::cut(&mut chats, limit);
        let next =
            last.map(|chat| Cursor { created_at: chat.created_at, chat_id: chat.chat_id.clone() });
        Self { chats, next }
    }
}
