use std::time::Duration;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    AppId, ChatId, Invalid, Message, Scope, SearchQuery, Snippet, UserId, WorkflowName, search_rank,
};

use crate::StoreError;
use crate::store::{ChatFilter, ChatOrder};

/// Finds messages by the words in them, in an index that follows the chats.
///
/// An append does not write to the index. [`index_chats`](Self::index_chats) does afterwards, so a new message is found a
/// moment later. What the index says is compared with the message itself: no hit shows a text that was edited or deleted.
#[async_trait]
pub trait Search: Send + Sync {
    /// Finds the messages that have all words of a query, the newest first, at most `limit`, after a position.
    ///
    /// It looks into the chats of the caller's list, see [`Reach::lists`](records::Reach::lists), or into the one chat that
    /// the search names, which the caller must be able to read. The rights are those of the moment: a message of a chat that
    /// the caller may no longer read is not found. The work of a call is bounded, so its page may be
    /// [partial](HitPage::is_partial).
    async fn search_messages(
        &self,
        scope: &Scope,
        search: &MessageSearch,
        limit: usize,
        after: Option<&HitPosition>,
    ) -> Result<HitPage, StoreError>;

    /// Brings the index of chats of any app up to date. For the process itself; takes no scope.
    ///
    /// Safe to repeat, to break off, and to run in several processes at once. The work of a call is bounded; chats that need
    /// another one are returned.
    async fn index_chats(&self, chat_ids: &[ChatId]) -> Result<Vec<ChatId>, StoreError>;

    /// Goes through chats of an app that have changed since the index was last known to be up to date, at most `limit`, and
    /// indexes them. Returns where to continue, and `None` at the end: every change made before the first call of the pass
    /// is in the index then.
    ///
    /// A process calls it for what it has not noticed, such as changes made while no process was running.
    async fn catch_up_index(
        &self,
        app_id: &AppId,
        after: Option<&CatchUp>,
        limit: usize,
    ) -> Result<Option<CatchUp>, StoreError>;

    /// Makes a process the leader of the index for [`INDEX_LEASE`] from now, unless another one is. Returns whether it is.
    ///
    /// The leader follows the changes of all chats; the others index what they write themselves. `indexed_to` is what it
    /// knows: every change before this time is in the index.
    async fn lead_index(
        &self,
        process: &str,
        indexed_to: Option<DateTime<Utc>>,
    ) -> Result<bool, StoreError>;
}

/// How long a process is the leader of the index of the search.
pub const INDEX_LEASE: Duration = Duration::from_secs(6);

/// What to search for, and where.
#[derive(Debug, Clone, PartialEq)]
pub struct MessageSearch {
    /// The words.
    pub query: SearchQuery,
    /// Only this chat.
    pub chat_id: Option<ChatId>,
    /// Only chats of this workflow.
    pub workflow_name: Option<WorkflowName>,
    /// Only chats started for this user.
    pub user_id: Option<UserId>,
    /// The chats that every user of the app finds, instead of the caller's own list.
    pub of_app: bool,
}

impl MessageSearch {
    /// The most messages with all words that a call looks at.
    pub const MAX_CANDIDATES: usize = 500;
    /// The most messages with the rarest of several words that a call reads from the index.
    pub const MAX_EXAMINED: usize = 2_000;
    /// The most words that the beginning of a word stands for, in a search of all chats.
    pub const MAX_EXPANDED: usize = 64;
    /// The most chats of each relation to a person that a call looks into, those that were last active.
    pub const MAX_CHATS: usize = 1_000;
    /// The most messages of these chats.
    pub const MAX_MESSAGES: u64 = 20_000;

    /// Creates a search of the caller's list.
    pub fn of(query: SearchQuery) -> Self {
        Self { query, chat_id: None, workflow_name: None, user_id: None, of_app: false }
    }

    /// Returns the list of the chats to search, in the order of their last activity.
    pub(crate) fn filter(&self) -> ChatFilter {
        let Self { workflow_name, user_id, of_app, .. } = self.clone();
        let order = ChatOrder::Active;
        ChatFilter { of_app, workflow_name, user_id, order, ..ChatFilter::default() }
    }

    /// Refuses filters that do not go together.
    pub(crate) fn check(&self) -> Result<(), Invalid> {
        let narrows = self.workflow_name.is_some() || self.user_id.is_some() || self.of_app;
        if self.chat_id.is_some() && narrows {
            return Err(Invalid::value("/chat_id", "cannot be combined with other filters"));
        }
        Ok(())
    }
}

/// A message that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The chat.
    pub chat_id: ChatId,
    /// The title of the chat.
    pub title: Option<String>,
    /// The position of the message in the chat.
    pub sequence: u64,
    /// The role of the message.
    pub role: String,
    /// The name of the speaker.
    pub name: Option<String>,
    /// When the message was stored.
    pub created_at: DateTime<Utc>,
    /// The part of what it says that has the words.
    pub snippet: Snippet,
}

impl Hit {
    /// Makes a hit of a message, without the rest of what it says, which may be large.
    pub(crate) fn of(
        chat_id: ChatId,
        title: Option<String>,
        message: Message,
        snippet: Snippet,
    ) -> Self {
        let Message { sequence, created_at, body, .. } = message;
        Self { chat_id, title, sequence, role: body.role, name: body.name, created_at, snippet }
    }

    /// Returns the place of the message among the hits.
    pub(crate) fn position(&self) -> HitPosition {
        HitPosition::of(&self.chat_id, self.sequence, self.created_at)
    }
}

/// The place of a message among the hits: right after this message. The newest message is the greatest.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct HitPosition {
    /// See [`search_rank`].
    pub rank: i64,
    /// The chat of the message.
    pub chat_id: ChatId,
    /// The sequence of the message.
    pub sequence: u64,
}

impl HitPosition {
    /// Returns the place of a message.
    fn of(chat_id: &ChatId, sequence: u64, created_at: DateTime<Utc>) -> Self {
        let rank = search_rank(created_at, chat_id, sequence);
        Self { rank, chat_id: chat_id.clone(), sequence }
    }
}

/// A page of hits.
#[derive(Debug, Clone, PartialEq)]
pub struct HitPage {
    /// The hits, the newest first.
    pub hits: Vec<Hit>,
    /// Where to go on, if there may be more.
    pub next: Option<HitPosition>,
    /// Whether there may be messages before `next` that were not looked at.
    pub is_partial: bool,
    /// Every change made before this time is in the index; `None` if the index was never complete.
    pub indexed_to: Option<DateTime<Utc>>,
}

/// A position in a pass over the changed chats of an app: right after this chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CatchUp {
    /// When the pass began.
    pub(crate) began_at: DateTime<Utc>,
    /// It goes through the changes since this time; `None` for all chats.
    pub(crate) since: Option<DateTime<Utc>>,
    /// Whether the pass is at the chats with new messages; before that it is at those with edited messages.
    pub(crate) is_at_appends: bool,
    /// The time of the change, and the chat.
    pub(crate) last: Option<(DateTime<Utc>, ChatId)>,
}

impl CatchUp {
    /// Begins a pass.
    pub(crate) fn begin(began_at: DateTime<Utc>, since: Option<DateTime<Utc>>) -> Self {
        // A pass over everything reads every chat as it is.
        Self { began_at, since, is_at_appends: since.is_none(), last: None }
    }
}
