use std::time::Duration;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::json::{self, JsonObject, Limits};
use crate::{
    AppId, ChatId, ForkOrigin, InputRequestId, Invalid, LastTurn, Lease, TeamId, UserId,
    Visibility, WorkflowName,
};

/// One run of a workflow: everything about it but its messages, artifact and context snapshot.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatSession {
    /// Names the chat.
    pub chat_id: ChatId,
    /// The app it belongs to.
    pub app_id: AppId,
    /// The workflow it is a run of.
    pub workflow_name: WorkflowName,
    /// The user it was started for.
    pub user_id: Option<UserId>,
    /// The team it is shared with when [`Visibility::Team`] says so.
    pub team_id: Option<TeamId>,
    /// Who may see it.
    pub visibility: Visibility,
    /// A number that makes model caches of this chat repeatable; see [`cache_seed`].
    pub cache_seed: u32,
    /// Where the run stands.
    pub status: ChatStatus,
    /// Why it was paused or failed, in the caller's words.
    pub status_reason: Option<String>,
    /// A title for people.
    pub title: Option<String>,
    /// Whatever the caller keeps beside the chat.
    pub metadata: JsonObject,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When anything about it last changed.
    pub last_updated_at: DateTime<Utc>,
    /// When it was completed, while it is completed.
    pub completed_at: Option<DateTime<Utc>>,
    /// Seconds from creation to completion or failure; 0 while the chat is going on.
    pub duration_sec: f64,
    /// How many messages were ever appended, and so the sequence the next one gets.
    pub last_sequence: u64,
    /// The questions it waits on, oldest first.
    pub pending_inputs: Vec<InputRequestId>,
    /// Who carries it on, if somebody has the right to alone; it may have expired.
    pub lease: Option<Lease>,
    /// When a message was last appended.
    pub last_message_at: Option<DateTime<Utc>>,
    /// The connector to a model that the last turn which names one has used.
    pub last_connector: Option<String>,
    /// The mode of the last turn which names one.
    pub last_mode: Option<String>,
    /// The turn that was written last.
    pub last_turn: Option<LastTurn>,
    /// The chat it was forked from, if it is a fork.
    pub forked_from: Option<ForkOrigin>,
}

impl ChatSession {
    /// Returns how long the run took that has ended, in whole milliseconds.
    #[must_use]
    pub fn duration_ms(&self) -> u64 {
        // The difference of two times in milliseconds, so what is rounded here is the float's error.
        let half = Duration::from_micros(500);
        let rounded = Duration::try_from_secs_f64(self.duration_sec).unwrap_or_default() + half;
        u64::try_from(rounded.as_millis()).unwrap_or(u64::MAX)
    }

    /// Returns when the run ended, or began if it has not.
    #[must_use]
    pub fn ended_at(&self) -> DateTime<Utc> {
        let milliseconds = i64::try_from(self.duration_ms()).unwrap_or(i64::MAX);
        self.created_at
            .checked_add_signed(TimeDelta::milliseconds(milliseconds))
            .unwrap_or(self.created_at)
    }
}

/// What a chat session is created from.
#[derive(Debug, Clone, PartialEq)]
pub struct NewChatSession {
    /// The id to use; one is minted when it is missing.
    pub chat_id: Option<ChatId>,
    /// The workflow.
    pub workflow_name: WorkflowName,
    /// The user it is for.
    pub user_id: Option<UserId>,
    /// The team of that user.
    pub team_id: Option<TeamId>,
    /// Who may see it.
    pub visibility: Visibility,
    /// The seed to use; derived by [`cache_seed`] when it is missing.
    pub cache_seed: Option<u32>,
    /// A title for people, at most [`Limits::TITLE_CHARS`] characters.
    pub title: Option<String>,
    /// Whatever the caller wants kept, at most [`Limits::METADATA_BYTES`].
    pub metadata: JsonObject,
}

impl NewChatSession {
    /// A chat session of the workflow, with everything else left to be minted, derived or empty.
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
        }
    }

    /// Checks the fields that have limits.
    pub fn check(&self) -> Result<(), Invalid> {
        let title_chars = self.title.as_deref().map_or(0, |title| title.chars().count());
        if title_chars > Limits::TITLE_CHARS {
            let limit = format!("must be at most {} characters", Limits::TITLE_CHARS);
            return Err(Invalid::value("/title", limit));
        }
        let bytes = json::measure_object(&self.metadata).map_err(|e| e.below("/metadata"))?;
        if bytes > Limits::METADATA_BYTES {
            let limit = format!("must be at most {} bytes", Limits::METADATA_BYTES);
            return Err(Invalid::too_large("/metadata", limit));
        }
        Ok(())
    }
}

/// Derives the seed of a chat: the first four bytes, big-endian, of the SHA-256 of
/// `"{app_id}:{chat_id}"`.
pub fn cache_seed(app_id: &AppId, chat_id: &ChatId) -> u32 {
    let hash = Sha256::digest(format!("{app_id}:{chat_id}"));
    u32::from_be_bytes([hash[0], hash[1], hash[2], hash[3]])
}

/// Where a run stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChatStatus {
    /// It goes on.
    Running,
    /// It waits, for a person or for a restart.
    Paused,
    /// It has ended well.
    Completed,
    /// It has ended badly.
    Failed,
}

impl ChatStatus {
    /// Every status, in the order of its number.
    pub const ALL: [Self; 4] = [Self::Running, Self::Paused, Self::Completed, Self::Failed];

    /// Returns the number it is stored as, 1 to 4.
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

    /// Returns the word it has on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
        }
    }

    /// Tells whether the run has ended, so that it takes no more messages.
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Failed)
    }

    /// Tells whether a chat may move from this status to `next`.
    ///
    /// A chat that goes on may be paused, completed or failed; a paused one likewise, or go on;
    /// an ended one may only be reopened. Staying is not a move.
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
    fn cache_seeds_are_the_published_ones() {
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
    fn an_ended_chat_can_only_be_reopened() {
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
