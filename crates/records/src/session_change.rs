use chrono::{DateTime, Utc};

use crate::chat_session::{check_metadata, check_system_prompt, check_title};
use crate::{
    AssistantId, ChatSession, FieldChange, Invalid, JsonObject, Lifecycle, TeamId, UserId,
    Visibility,
};

/// A change of a chat session. A field that is `None` stays as it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct SessionChange {
    /// The title, at most [`Limits::TITLE_CHARS`](crate::Limits::TITLE_CHARS) characters.
    pub title: FieldChange<String>,
    /// The metadata, which replaces all of the old, at most
    /// [`Limits::METADATA_BYTES`](crate::Limits::METADATA_BYTES).
    pub metadata: Option<JsonObject>,
    /// The callers that may see the chat.
    pub visibility: Option<Visibility>,
    /// The team.
    pub team_id: FieldChange<TeamId>,
    /// The assistant.
    pub assistant_id: FieldChange<AssistantId>,
    /// The place in lists that are sorted by it.
    pub sort: Option<i32>,
    /// The instructions for the model, at most [`Limits::SYSTEM_PROMPT_BYTES`](crate::Limits::SYSTEM_PROMPT_BYTES).
    pub system_prompt: FieldChange<String>,
    /// The lifecycle: every change is allowed, but nothing becomes [`Lifecycle::Purged`] by it.
    pub lifecycle: Option<Lifecycle>,
}

impl SessionChange {
    /// Makes a change of the lifecycle alone.
    #[must_use]
    pub fn to_lifecycle(lifecycle: Lifecycle) -> Self {
        Self { lifecycle: Some(lifecycle), ..Self::default() }
    }

    /// Checks the fields that have limits.
    pub fn check(&self) -> Result<(), Invalid> {
        check_title(self.title.value().map(String::as_str))?;
        check_system_prompt(self.system_prompt.value().map(String::as_str))?;
        if let Some(metadata) = &self.metadata {
            check_metadata(metadata)?;
        }
        if self.lifecycle == Some(Lifecycle::Purged) {
            return Err(Invalid::value("/lifecycle", "must not be purged"));
        }
        Ok(())
    }

    /// Returns the chat session after the change; `None` if it stays the same.
    ///
    /// A chat of [`Visibility::Team`] without a team is refused.
    pub fn apply(
        &self,
        chat: &ChatSession,
        editor: Option<&UserId>,
        now: DateTime<Utc>,
    ) -> Result<Option<ChatSession>, Invalid> {
        let change = self.clone();
        let mut changed = ChatSession {
            title: change.title.applied_to(chat.title.clone()),
            metadata: change.metadata.unwrap_or_else(|| chat.metadata.clone()),
            visibility: change.visibility.unwrap_or(chat.visibility),
            team_id: change.team_id.applied_to(chat.team_id.clone()),
            assistant_id: change.assistant_id.applied_to(chat.assistant_id.clone()),
            sort: change.sort.unwrap_or(chat.sort),
            system_prompt: change.system_prompt.applied_to(chat.system_prompt.clone()),
            lifecycle: change.lifecycle.unwrap_or(chat.lifecycle),
            ..chat.clone()
        };
        if changed == *chat {
            return Ok(None);
        }
        if changed.visibility == Visibility::Team && changed.team_id.is_none() {
            return Err(Invalid::value("/visibility", "must not be team without a team_id"));
        }
        if changed.lifecycle != chat.lifecycle {
            changed.lifecycle_at = (changed.lifecycle != Lifecycle::Active).then_some(now);
            // A worker that goes on with a chat that was deleted must find that its lease is gone.
            changed.lease = changed.lease.filter(|_| changed.lifecycle.exists());
            changed.is_uncounted = changed.ended_by_removal();
        }
        changed.session_version += 1;
        changed.updated_by = editor.cloned();
        changed.last_updated_at = now;
        Ok(Some(changed))
    }
}
