use persistence::{Store, StoreError};
use records::{ChatId, ChatSession, IfMatch, JsonObject, Permission, Scope, SessionChange};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use crate::wire::Time;

/// How often a record is changed anew because others changed the chat meanwhile.
const MAX_ATTEMPTS: usize = 8;

/// The fields of the metadata of a chat that make its record.
const SESSION_ID: &str = "sessionId";
const CWD: &str = "cwd";
const CREATED_AT: &str = "createdAt";

/// The record of a session, which the original kept in a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = PersistedSession)]
pub(crate) struct SessionFile {
    /// The id of the session of the agent.
    #[schema(example = "session-abc123")]
    session_id: String,
    /// The working directory of the agent.
    #[schema(example = "/workspace")]
    cwd: String,
    /// As given; otherwise when the chat was created.
    #[schema(example = "2024-01-15T10:30:00Z")]
    created_at: String,
}

impl SessionFile {
    /// Returns the record of a chat; `None` if it has none.
    pub(super) fn of(chat: &ChatSession) -> Option<Self> {
        let text = |field: &str| Some(chat.metadata.get(field)?.as_str()?.to_owned());
        Some(Self {
            session_id: text(SESSION_ID).filter(|id| !id.is_empty())?,
            cwd: text(CWD).unwrap_or_default(),
            created_at: text(CREATED_AT).unwrap_or_else(|| Time::from(chat.created_at).to_string()),
        })
    }
}

/// A change of the record of a session.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionFileChange {
    pub(super) session_id: Option<String>,
    pub(super) cwd: Option<String>,
    pub(super) created_at: Option<String>,
}

impl SessionFileChange {
    /// Replaces the record in the metadata of a chat; other fields stay.
    pub(super) fn apply(&self, metadata: &mut JsonObject) {
        let fields =
            [(SESSION_ID, &self.session_id), (CWD, &self.cwd), (CREATED_AT, &self.created_at)];
        for (field, text) in fields {
            match text {
                Some(text) => drop(metadata.insert(field.to_owned(), Value::from(text.as_str()))),
                None => drop(metadata.shift_remove(field)),
            }
        }
    }

    /// Returns whether a chat has the record.
    pub(super) fn is_stored(&self, chat: &ChatSession) -> bool {
        let mut metadata = chat.metadata.clone();
        self.apply(&mut metadata);
        metadata == chat.metadata
    }

    /// Replaces the record of a chat, whatever else of the chat others change meanwhile.
    pub(super) async fn store(
        &self,
        store: &dyn Store,
        scope: &Scope,
        chat_id: &ChatId,
    ) -> Result<ChatSession, StoreError> {
        let reading = scope.needing(Permission::Read);
        let mut attempts = 0;
        loop {
            let chat = store.get_chat(&reading, chat_id).await?;
            let chat = chat.ok_or_else(|| StoreError::ChatNotFound(chat_id.clone()))?;
            let mut metadata = chat.metadata;
            self.apply(&mut metadata);
            let seen = IfMatch::Tags(vec![chat.session_version.to_string()]);
            let unchanged = Scope { if_match: Some(seen), ..scope.clone() };
            let change = SessionChange { metadata: Some(metadata), ..SessionChange::default() };
            attempts += 1;
            match store.change_chat(&unchanged, chat_id, change).await {
                Err(StoreError::Changed { .. }) if attempts < MAX_ATTEMPTS => {}
                changed => return changed,
            }
        }
    }
}
