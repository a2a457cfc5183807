use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::json::{self, Digest, Hasher, JsonObject, Limits};
use crate::{
    AppId, AssistantId, ChatId, ForkOrigin, Hold, IdSalt, InputRequestId, Invalid, LastTurn, Lease,
    Lifecycle, SizeLimit, TeamId, UserId, Visibility, WorkflowName,
};

/// A chat session, which is one run of a workflow, without its messages, artifact and context snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatSession {
    /// The id of the chat.
    pub chat_id: ChatId,
    /// The app of the chat.
    pub app_id: AppId,
    /// The name of the workflow.
    pub workflow_name: WorkflowName,
    /// The user for whom the chat was created.
    pub user_id: Option<UserId>,
    /// The team that may see the chat if its visibility is [`Visibility::Team`].
    pub team_id: Option<TeamId>,
    /// The callers that may see the chat.
    pub visibility: Visibility,
    /// The seed for model caches, so that runs of this chat are repeatable; see [`cache_seed`].
    pub cache_seed: u32,
    /// The status of the run.
    pub status: ChatStatus,
    /// The caller's reason for a pause or a failure.
    pub status_reason: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// Any data of the caller about the chat.
    pub metadata: JsonObject,
    /// When the chat was created.
    pub created_at: DateTime<Utc>,
    /// When the chat last changed.
    pub last_updated_at: DateTime<Utc>,
    /// When the chat was completed, if its status is completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// The seconds from creation to completion or failure; 0 until the chat has ended.
    pub duration_sec: f64,
    /// The number of messages ever appended, which is the sequence of the next message.
    pub last_sequence: u64,
    /// The pending input requests, oldest first.
    pub pending_inputs: Vec<InputRequestId>,
    /// The lease of the worker that continues the chat, if there is one; it may have expired.
    pub lease: Option<Lease>,
    /// When a message was last appended.
    pub last_message_at: Option<DateTime<Utc>>,
    /// The name in the message that was appended last, or its role if it has no name.
    pub last_speaker: Option<String>,
    /// The connector to a model, from the last turn or message that names one.
    pub last_connector: Option<String>,
    /// The mode, from the last turn or message that names one.
    pub last_mode: Option<String>,
    /// The last turn that was written.
    pub last_turn: Option<LastTurn>,
    /// The source of the chat, if it is a fork.
    pub forked_from: Option<ForkOrigin>,
    /// The assistant that the chat talks to.
    pub assistant_id: Option<AssistantId>,
    /// The place of the chat in lists that are sorted by it.
    pub sort: i32,
    /// The instructions for the model, which callers put before the messages; not a message itself.
    pub system_prompt: Option<String>,
    /// Whether the chat is in use, put aside or removed.
    pub lifecycle: Lifecycle,
    /// When the lifecycle last changed, unless the chat is active.
    pub lifecycle_at: Option<DateTime<Utc>>,
    /// Whether the statistics count the chat as none of a status: it was removed before it had ended. Chats that an earlier
    /// release has removed are counted.
    pub is_uncounted: bool,
    /// Grows with every [`SessionChange`](crate::SessionChange) of the chat.
    pub session_version: u64,
    /// The person who made the last such change; `None` if a service did.
    pub updated_by: Option<UserId>,
    /// The digest of the arguments of the creation, by which its repeat is recognised; `None` if an earlier release
    /// created the chat.
    pub creation_digest: Option<Digest>,
    /// The salt of the ids that are derived from its texts; that of its source in a fork, which has its messages. `None` if
    /// an earlier release created the chat.
    pub id_salt: Option<IdSalt>,
    /// The hold that keeps the chat from being purged, if there is one.
    pub hold: Option<Hold>,
}

impl ChatSession {
    /// Creates the session of a new chat, which is running and has no messages. `chat_id` replaces the id of
    /// `new`.
    #[must_use]
    pub fn start(app_id: AppId, chat_id: ChatId, new: NewChatSession, now: DateTime<Utc>) -> Self {
        let creation_digest = Some(new.digest());
        Self {
            cache_seed: new.cache_seed.unwrap_or_else(|| cache_seed(&app_id, &chat_id)),
            chat_id,
            app_id,
            workflow_name: new.workflow_name,
            user_id: new.user_id,
            team_id: new.team_id,
            visibility: new.visibility,
            status: ChatStatus::Running,
            status_reason: None,
            title: new.title,
            metadata: new.metadata,
            created_at: now,
            last_updated_at: now,
            completed_at: None,
            duration_sec: 0.0,
            last_sequence: 0,
            pending_inputs: Vec::new(),
            lease: None,
            last_message_at: None,
            last_speaker: None,
            last_connector: None,
            last_mode: None,
            last_turn: None,
            forked_from: None,
            assistant_id: new.assistant_id,
            sort: new.sort,
            system_prompt: new.system_prompt,
            lifecycle: Lifecycle::Active,
            lifecycle_at: None,
            is_uncounted: false,
            session_version: 0,
            updated_by: None,
            creation_digest,
            id_salt: None,
            hold: None,
        }
    }

    /// Returns whether the chat was removed before it had ended, so that it is running no more.
    #[must_use]
    pub fn ended_by_removal(&self) -> bool {
        !self.lifecycle.exists() && !self.status.is_ended()
    }

    /// Returns the duration of a run that has ended, in whole milliseconds.
    #[must_use]
    pub fn duration_ms(&self) -> u64 {
        // Both times are whole milliseconds, so that rounding only removes the error of the float.
        let half = Duration::from_micros(500);
        let rounded = Duration::try_from_secs_f64(self.duration_sec).unwrap_or_default() + half;
        u64::try_from(rounded.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns when the chat was last active: when its last message was appended, or when it was created.
    #[must_use]
    pub fn last_active_at(&self) -> DateTime<Utc> {
        self.last_message_at.map_or(self.created_at, |at| at.max(self.created_at))
    }

    /// Returns the minute in which the chat was last active.
    #[must_use]
    pub fn active_minute(&self) -> DateTime<Utc> {
        minute_of(self.last_active_at())
    }

    /// Returns when the run ended; when it began if it has not ended.
    #[must_use]
    pub fn ended_at(&self) -> DateTime<Utc> {
        let milliseconds = i64::try_from(self.duration_ms()).unwrap_or(i64::MAX);
        self.created_at
            .checked_add_signed(TimeDelta::milliseconds(milliseconds))
            .unwrap_or(self.created_at)
    }
}

/// Returns the minute that contains a time.
#[must_use]
pub fn minute_of(at: DateTime<Utc>) -> DateTime<Utc> {
    let begun = TimeDelta::milliseconds(at.timestamp_millis().rem_euclid(60_000));
    at.checked_sub_signed(begun).unwrap_or(at)
}

/// A chat session to create.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChatSession {
    /// The id of the chat; the store mints one if it is missing.
    pub chat_id: Option<ChatId>,
    /// The name of the workflow.
    pub workflow_name: WorkflowName,
    /// The user for whom the chat is created.
    pub user_id: Option<UserId>,
    /// The team of that user.
    pub team_id: Option<TeamId>,
    /// The callers that may see the chat.
    pub visibility: Visibility,
    /// The cache seed; derived by [`cache_seed`] if it is missing.
    pub cache_seed: Option<u32>,
    /// A title for people, at most [`Limits::TITLE_CHARS`] characters.
    pub title: Option<String>,
    /// Any data of the caller, at most [`Limits::METADATA_BYTES`].
    pub metadata: JsonObject,
    /// The assistant that the chat talks to.
    pub assistant_id: Option<AssistantId>,
    /// The place of the chat in lists that are sorted by it.
    pub sort: i32,
    /// The instructions for the model, at most [`Limits::SYSTEM_PROMPT_BYTES`].
    pub system_prompt: Option<String>,
}

impl NewChatSession {
    /// Creates a chat session of a workflow; every other field is empty or derived later.
    pub fn of(workflow_name: WorkflowName) -> Self {
        Self {
            chat_id: None,
            workflow_name,
            user_id: None,
            team_id: None,
            visibility: Visibility::default(),
            cache_seed: None,
            title: None,
            metadata: JsonObject::new(),
            assistant_id: None,
            sort: 0,
            system_prompt: None,
        }
    }

    /// Returns the digest of the fields that may be changed later.
    pub(crate) fn digest(&self) -> Digest {
        let mut hasher = Hasher::default();
        hasher.field("title", &Value::from(self.title.as_deref()));
        hasher.object("metadata", &self.metadata);
        hasher.field("visibility", &Value::from(self.visibility.as_str()));
        hasher.field("team_id", &Value::from(self.team_id.as_ref().map(TeamId::as_str)));
        let assistant_id = self.assistant_id.as_ref().map(AssistantId::as_str);
        hasher.field("assistant_id", &Value::from(assistant_id));
        hasher.field("sort", &Value::from(self.sort));
        // Without one the digest is that of releases that do not know it.
        if let Some(prompt) = &self.system_prompt {
            hasher.field("system_prompt", &Value::from(prompt.as_str()));
        }
        hasher.finish()
    }

    /// Returns whether a creation with these fields stores this chat session.
    #[must_use]
    pub fn has_created(&self, chat: &ChatSession) -> bool {
        let derived = || cache_seed(&chat.app_id, &chat.chat_id);
        let is_unchanged = || {
            self.team_id == chat.team_id
                && self.visibility == chat.visibility
                && self.title == chat.title
                && self.metadata == chat.metadata
        };
        chat.forked_from.is_none()
            && self.workflow_name == chat.workflow_name
            && self.user_id == chat.user_id
            && self.cache_seed.unwrap_or_else(derived) == chat.cache_seed
            && chat.creation_digest.map_or_else(is_unchanged, |digest| digest == self.digest())
    }

    /// Checks the fields that have limits.
    pub fn check(&self) -> Result<(), Invalid> {
        check_title(self.title.as_deref())?;
        check_system_prompt(self.system_prompt.as_deref())?;
        check_metadata(&self.metadata)
    }
}

/// Checks the title of a chat.
pub(crate) fn check_title(title: Option<&str>) -> Result<(), Invalid> {
    if title.map_or(0, |title| title.chars().count()) > Limits::TITLE_CHARS {
        let limit = format!("must be at most {} characters", Limits::TITLE_CHARS);
        return Err(Invalid::value("/title", limit));
    }
    Ok(())
}

/// Checks the system prompt of a chat.
pub(crate) fn check_system_prompt(prompt: Option<&str>) -> Result<(), Invalid> {
    if prompt.map_or(0, str::len) > Limits::SYSTEM_PROMPT_BYTES {
        let limit = format!("must be at most {} bytes", Limits::SYSTEM_PROMPT_BYTES);
        return Err(Invalid::value("/system_prompt", limit));
    }
    Ok(())
}

/// Checks the metadata of a chat.
pub(crate) fn check_metadata(metadata: &JsonObject) -> Result<(), Invalid> {
    let bytes = json::measure_object(metadata).map_err(|e| e.below("/metadata"))?;
    if bytes > Limits::METADATA_BYTES {
        let limit = format!("must be at most {} bytes", Limits::METADATA_BYTES);
        return Err(Invalid::too_large(SizeLimit::Metadata, "/metadata", limit));
    }
    Ok(())
}

/// Returns the cache seed of a chat: the first four bytes, big-endian, of the SHA-256 of
/// `"{app_id}:{chat_id}"`.
pub fn cache_seed(app_id: &AppId, chat_id: &ChatId) -> u32 {
    let hash = Sha256::digest(format!("{app_id}:{chat_id}"));
    u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])
}

/// The status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatStatus {
    /// The run continues.
    Running,
    /// The run waits for a person or for a restart.
    Paused,
    /// The run has ended successfully.
    Completed,
    /// The run has ended with a failure.
    Failed,
}

impl ChatStatus {
    /// Every status, ordered by number.
    pub const ALL: [Self; 4] = [Self::Running, Self::Paused, Self::Completed, Self::Failed];

    /// Returns the number in the store, 1 to 4.
    pub fn number(self) -> i32 {
        match self {
            Self::Running => 1,
            Self::Paused => 2,
            Self::Completed => 3,
            Self::Failed => 4,
        }
    }

    /// Returns the status with that number.
    pub fn from_number(number: i32) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.number() == number)
    }

    /// Returns the name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Returns whether the run has ended: then the chat accepts no messages.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// Returns whether a chat may change from this status to `next`.
    ///
    /// A running chat may be paused, completed or failed. A paused chat may run again, or be completed or
    /// failed. An ended chat may only be reopened. A status never changes to itself.
    pub fn may_become(self, next: Self) -> bool {
        match next {
            Self::Running => self != Self::Running,
            Self::Paused => self == Self::Running,
            Self::Completed | Self::Failed => !self.is_ended(),
        }
    }
}

impl std::fmt::Display for ChatStatus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_seeds_match_the_published_vectors() {
        let vectors = [
            ("acme_corp", "chat_abc123", 1_607_456_783),
            ("acme_corp", "c1", 2_346_697_438),
            ("acme_corp", "chat_abc123def456", 2_900_028_032),
            ("6507f1b2e4b0c8a9d2f3e4a5", "chat_abc123def456", 1_487_626_750),
            ("app", "chat", 660_817_693),
        ];
        for (app, chat, seed) in vectors {
            let (app, chat) = (AppId::parse(app).unwrap(), ChatId::parse(chat).unwrap());
            assert_eq!(cache_seed(&app, &chat), seed, "{app}:{chat}");
        }
    }

    #[test]
    fn only_the_documented_status_changes_are_allowed() {
        use ChatStatus::{Completed, Failed, Paused, Running};
        let legal: Vec<_> = ChatStatus::ALL
            .into_iter()
            .flat_map(|from| ChatStatus::ALL.map(|to| (from, to)))
            .filter(|(from, to)| from.may_become(*to))
            .collect();
        let expected = [
            (Running, Paused),
            (Running, Completed),
            (Running, Failed),
            (Paused, Running),
            (Paused, Completed),
            (Paused, Failed),
            (Completed, Running),
            (Failed, Running),
        ];
        assert_eq!(legal, expected);
    }
}
