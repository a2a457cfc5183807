use std::ops::Range;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{Actor, AppId, ChatId, Erasure, Pseudonym, UserId, WorkflowName};

use crate::StoreError;

/// Erases persons from an app (decision 0053).
///
/// What a person said is gone: their chats, as they are and as forks show them, and in chats of others their messages,
/// answers and names. Their user id becomes a pseudonym wherever it stays. Ids of chats and messages stay taken, sequences
/// stay dense, and no number of the statistics or of a wallet changes.
///
/// An erasure works through all chats of the app, step by step. It may be broken off anywhere and continued by any process.
/// What the person writes meanwhile may remain, so revoke their tokens first.
#[async_trait]
pub trait Erasures: Send + Sync {
    /// Begins to erase a person, or returns the erasure that is under way. Erases nothing yet.
    async fn begin_erasure(
        &self,
        actor: &Actor,
        app_id: &AppId,
        user_id: &UserId,
    ) -> Result<Erasure, StoreError>;

    /// Goes on with an erasure by one step: up to `limit` chats, fewer if they take long. Returns how it stands then; `None` if
    /// there is none with this pseudonym.
    async fn continue_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
        limit: usize,
    ) -> Result<Option<Erasure>, StoreError>;

    /// Returns an erasure; a finished one is the receipt.
    async fn get_erasure(
        &self,
        app_id: &AppId,
        pseudonym: Pseudonym,
    ) -> Result<Option<Erasure>, StoreError>;

    /// Lists up to `limit` erasures that are not finished, of all apps.
    async fn unfinished_erasures(&self, limit: usize) -> Result<Vec<Erasure>, StoreError>;

    /// Searches up to `limit` chats of an app for anything of a person, after the position of a chat. Finds what an erasure
    /// takes away, in chats that are deleted, too: also in forks, which show messages as their source had them.
    ///
    /// The order is one in which a chat never changes its place. A chat that is created meanwhile may be before the position.
    async fn find_chats_of(
        &self,
        app_id: &AppId,
        user_id: &UserId,
        after: Option<&SearchPosition>,
        limit: usize,
    ) -> Result<PersonChats, StoreError>;
}

/// The result of searching chats for a person.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PersonChats {
    /// The chats in which there is anything of the person.
    pub found: Vec<PersonChat>,
    /// How many chats were searched.
    pub searched: u64,
    /// The position of the last chat that was searched; `None` if there are no more.
    pub last: Option<SearchPosition>,
}

/// A chat in which there is anything of a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PersonChat {
    /// The chat.
    pub chat_id: ChatId,
    /// What it has taken over from chats of the person, in order.
    pub inherited: Vec<Inherited>,
}

/// Messages that a fork has taken over from a chat, or from a fork of it. The chat may show them differently now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Inherited {
    /// The chat.
    pub source: ChatId,
    /// The sequences of the messages, the same in both chats.
    pub span: Range<u64>,
}

/// The position of a chat in a search of all chats of an app.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPosition {
    /// The workflow of the chat.
    pub workflow_name: WorkflowName,
    /// When the chat was created.
    pub created_at: DateTime<Utc>,
    /// The chat.
    pub chat_id: ChatId,
}
