use std::cmp::Ordering;

use async_trait::async_trait;
use chrono::{DateTime, Utc};
use records::{
    AssistantId, ChatId, ChatSession, ChatStatus, Lifecycle, MetadataFilter, NewChatSession, Scope,
    SessionChange, TeamId, TitlePart, TurnOutcome, UserId, Visibility, WorkflowName, minute_of,
    title_key,
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

    /// Lists chat sessions in the order of the filter, then by id, both in its direction.
    ///
    /// A person lists the chats that are theirs, that they are a member of, and that their team shares; other callers
    /// list every chat of the app.
    ///
    /// `limit` must be at least 1. Pages do not overlap and skip no chat that existed when the
    /// first page was read and has not moved since, because the cursor names a position and not an offset. A cursor
    /// belongs to the filter of its page. A filter that no index serves in its order is refused as
    /// [`Invalid`](StoreError::Invalid).
    async fn list_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
        limit: usize,
        after: Option<&ListCursor>,
    ) -> Result<Page, StoreError>;

    /// Counts the chats of a list, up to [`MAX_COUNTED`](ChatCount::MAX_COUNTED). A filter that no index serves in its order
    /// is refused like its list.
    async fn count_chats(
        &self,
        scope: &Scope,
        filter: &ChatFilter,
    ) -> Result<ChatCount, StoreError>;

    /// Indexes the metadata of at most `limit` chats whose app has changed its
    /// [keys](records::OwnSettings::metadata_keys), and returns how many. Repeated until it returns 0, it has indexed all.
    ///
    /// Until then a list by a new key is [`IndexingMetadata`](StoreError::IndexingMetadata), so that it never lacks a chat.
    /// Safe to run in several processes.
    async fn index_metadata(&self, limit: usize) -> Result<usize, StoreError>;

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

/// The order of a list of chat sessions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ChatOrder {
    /// By creation. No chat ever moves in it.
    #[default]
    Created,
    /// By last activity ([`ChatSession::last_active_at`]).
    ///
    /// The list is ordered by the minute of the activity, and each page exactly. A page ends with a whole minute where that
    /// leaves at least half of it, so it may hold fewer chats than its limit; a minute with more chats is continued by id.
    /// A chat that becomes active while it is listed moves to the front: a page that was read before may have it, too, and
    /// one that is read later does not.
    Active,
    /// By the first 64 characters of the title in lower case ([`title_key`]). A chat without a title comes after all others.
    Title,
    /// By [`ChatSession::sort`].
    Sort,
}

/// The direction of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Ascending,
    /// The greatest first.
    Descending,
}

impl Direction {
    /// Compares two positions as the list does.
    pub(crate) fn compare<T: Ord>(self, one: &T, other: &T) -> Ordering {
        match self {
            Self::Ascending => one.cmp(other),
            Self::Descending => other.cmp(one),
        }
    }
}

impl ChatOrder {
    /// Every order.
    pub const ALL: [Self; 4] = [Self::Created, Self::Active, Self::Title, Self::Sort];

    /// Returns the direction of a list that names none: newest first, and titles from A to Z.
    #[must_use]
    pub fn direction(self) -> Direction {
        match self {
            Self::Created | Self::Active => Direction::Descending,
            Self::Title | Self::Sort => Direction::Ascending,
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Created => "created",
            Self::Active => "active",
            Self::Title => "title",
            Self::Sort => "sort",
        }
    }
}

/// Selects the chat sessions to list, and their order. A field that is `None` does not restrict the list.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChatFilter {
    /// The chats of [`Visibility::App`], whichever user owns them, instead of the caller's own list.
    pub of_app: bool,
    /// Only this workflow.
    pub workflow_name: Option<WorkflowName>,
    /// Only chats started for this user.
    pub user_id: Option<UserId>,
    /// Only chats that this user is a member of. A person may name only themselves.
    pub member: Option<UserId>,
    /// Only chats of this team.
    pub team_id: Option<TeamId>,
    /// Only chats with this assistant.
    pub assistant_id: Option<AssistantId>,
    /// Only chats in one of these statuses. An empty list admits chats in every status.
    pub statuses: Vec<ChatStatus>,
    /// Only chats whose title has this part, in any case.
    pub title_contains: Option<TitlePart>,
    /// Only chats with this value in their metadata; its key must be one of those that the
    /// [app](records::OwnSettings::metadata_keys) has declared.
    pub metadata: Option<MetadataFilter>,
    /// Only chats with a pending input request.
    pub needs_input: bool,
    /// Only chats whose last turn ended in this way.
    pub last_turn_outcome: Option<TurnOutcome>,
    /// Only forks of this chat.
    pub forked_from: Option<ChatId>,
    /// Only chats created at or after this time.
    pub created_from: Option<DateTime<Utc>>,
    /// Only chats created before this time.
    pub created_before: Option<DateTime<Utc>>,
    /// Only chats last active in the minute of this time or later.
    pub active_from: Option<DateTime<Utc>>,
    /// Only chats last active before the minute of this time.
    pub active_before: Option<DateTime<Utc>>,
    /// Only chats in one of these lifecycles; an empty list admits those that are active or archived. Deleted chats are
    /// listed only in a scope that [finds](Scope::finds_deleted) them.
    pub lifecycles: Vec<Lifecycle>,
    /// The order of the list.
    pub order: ChatOrder,
    /// The direction of the list; without it that of the [order](ChatOrder::direction).
    pub direction: Option<Direction>,
}

impl ChatFilter {
    /// Returns whether a chat session matches, apart from `member`.
    pub fn admits(&self, chat: &ChatSession) -> bool {
        (!self.of_app || chat.visibility == Visibility::App)
            && self.workflow_name.as_ref().is_none_or(|name| *name == chat.workflow_name)
            && self.user_id.as_ref().is_none_or(|user| Some(user) == chat.user_id.as_ref())
            && self.team_id.as_ref().is_none_or(|team| Some(team) == chat.team_id.as_ref())
            && self.assistant_id.as_ref().is_none_or(|it| Some(it) == chat.assistant_id.as_ref())
            && (self.statuses.is_empty() || self.statuses.contains(&chat.status))
            && self.has_texts(chat)
            && (!self.needs_input || !chat.pending_inputs.is_empty())
            && self.last_turn_outcome.is_none_or(|wanted| {
                chat.last_turn.as_ref().is_some_and(|turn| turn.outcome == wanted)
            })
            && self.forked_from.as_ref().is_none_or(|source| {
                chat.forked_from.as_ref().is_some_and(|origin| origin.chat_id == *source)
            })
            && self.created_from.is_none_or(|from| from <= chat.created_at)
            && self.created_before.is_none_or(|before| chat.created_at < before)
            && self.active_from.is_none_or(|from| minute_of(from) <= chat.active_minute())
            && self.active_before.is_none_or(|before| chat.active_minute() < minute_of(before))
            && self.has_lifecycle(chat.lifecycle)
    }

    /// Returns the direction of the list.
    #[must_use]
    pub fn direction(&self) -> Direction {
        self.direction.unwrap_or(self.order.direction())
    }

    /// Returns whether the filter admits a lifecycle.
    pub(crate) fn has_lifecycle(&self, lifecycle: Lifecycle) -> bool {
        match self.lifecycles.as_slice() {
            [] => lifecycle.exists(),
            wanted => wanted.contains(&lifecycle),
        }
    }

    /// Returns whether the filter admits the title and the metadata of a chat.
    pub(crate) fn has_texts(&self, chat: &ChatSession) -> bool {
        self.has_title(chat.title.as_deref())
            && self.metadata.as_ref().is_none_or(|filter| filter.is_in(&chat.metadata))
    }

    /// Returns whether the filter admits a title.
    pub(crate) fn has_title(&self, title: Option<&str>) -> bool {
        let has = |part: &TitlePart| title.is_some_and(|title| part.is_in(title));
        self.title_contains.as_ref().is_none_or(has)
    }
}

/// A position in a list by creation: right after this chat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// When the chat was created.
    pub created_at: DateTime<Utc>,
    /// The id of the chat.
    pub chat_id: ChatId,
}

/// A position in a list of chat sessions: right after this chat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ListCursor {
    /// What the list is ordered by.
    pub position: Position,
    /// The id of the chat.
    pub chat_id: ChatId,
}

/// What a list of chat sessions is ordered by, of one chat.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Position {
    /// When the chat was created.
    Created(DateTime<Utc>),
    /// The minute in which the chat was last active.
    Active(DateTime<Utc>),
    /// The [key](title_key) of its title.
    Title(String),
    /// Its [`ChatSession::sort`].
    Sort(i32),
}

impl Position {
    /// Returns the order of the lists in which this is a position.
    #[must_use]
    pub fn order(&self) -> ChatOrder {
        match self {
            Self::Created(_) => ChatOrder::Created,
            Self::Active(_) => ChatOrder::Active,
            Self::Title(_) => ChatOrder::Title,
            Self::Sort(_) => ChatOrder::Sort,
        }
    }
}

impl ListCursor {
    /// Returns the position of a chat in a list.
    pub(crate) fn at(chat: &ChatSession, order: ChatOrder) -> Self {
        let position = match order {
            ChatOrder::Created => Position::Created(chat.created_at),
            ChatOrder::Active => Position::Active(chat.active_minute()),
            ChatOrder::Title => Position::Title(title_key(chat.title.as_deref())),
            ChatOrder::Sort => Position::Sort(chat.sort),
        };
        Self { position, chat_id: chat.chat_id.clone() }
    }
}

/// How many chat sessions a list has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatCount {
    /// So many.
    Exactly(usize),
    /// So many or more.
    AtLeast(usize),
}

impl ChatCount {
    /// The number past which chats are not counted.
    pub const MAX_COUNTED: usize = 10_000;

    /// Makes the count of a list from the number of chats that were found.
    pub(crate) fn of(found: usize) -> Self {
        if found > Self::MAX_COUNTED {
            Self::AtLeast(Self::MAX_COUNTED)
        } else {
            Self::Exactly(found)
        }
    }
}

/// A page of chat sessions.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// The chat sessions.
    pub chats: Vec<ChatSession>,
    /// The position of the next page, if there is a next page.
    pub next: Option<ListCursor>,
}

impl Page {
    /// Makes a page of the first chat sessions of a list after a position, at most `limit`. Their order does not matter.
    pub(crate) fn cut(chats: Vec<ChatSession>, limit: usize, filter: &ChatFilter) -> Self {
        let direction = filter.direction();
        // Each position is made once: that of a title takes longer than a comparison.
        let placed = |chat: ChatSession| (ListCursor::at(&chat, filter.order), chat);
        let mut placed: Vec<_> = chats.into_iter().map(placed).collect();
        placed.sort_by(|(one, _), (other, _)| direction.compare(one, other));
        let limit = page_end(placed.iter().map(|(at, _)| at), limit);
        let next = super::cut(&mut placed, limit).map(|(at, _)| at.clone());
        let mut chats: Vec<_> = placed.into_iter().map(|(_, chat)| chat).collect();
        sort_page(&mut chats, filter);
        Self { chats, next }
    }
}

/// Sorts a page by the time of the last activity, if its list is by the minutes of it.
pub(crate) fn sort_page(chats: &mut [ChatSession], filter: &ChatFilter) {
    if filter.order == ChatOrder::Active {
        chats.sort_by(|one, other| {
            let [one, other] = [one, other].map(|chat| (chat.last_active_at(), &chat.chat_id));
            filter.direction().compare(&one, &other)
        });
    }
}

/// Returns how many of the chats at these positions a page holds: as many as wanted, or so many that it ends with a whole
/// minute, if that leaves at least half of it.
pub(crate) fn page_end<'a>(positions: impl Iterator<Item = &'a ListCursor>, limit: usize) -> usize {
    let minute = |position: &ListCursor| match position.position {
        Position::Active(minute) => Some(minute),
        _ => None,
    };
    let mut minutes: Vec<_> = positions.take(limit.saturating_add(1)).map_while(minute).collect();
    if minutes.len() <= limit {
        return limit;
    }
    let beyond = minutes.pop();
    let whole = minutes.iter().take_while(|minute| Some(**minute) != beyond).count();
    if whole >= limit.div_ceil(2) { whole } else { limit }
}
