use std::borrow::Cow;

use bson::{DateTime, Document, RawDocument, doc};
use records::{
    AppId, Assistant, AssistantContent, AssistantId, JsonObject, TeamId, UserId, Visibility,
};
use serde::{Deserialize, Serialize};

use crate::StoreError;
use crate::mongo::collection_names::ASSISTANTS;
use crate::mongo::documents::SCHEMA_VERSION;
use crate::mongo::documents::stored::read_document;
use crate::mongo::engine::json::Json;

/// A stored assistant.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AssistantDocument<'a> {
    #[serde(rename = "_id")]
    id: AssistantKey,
    user_id: Option<UserId>,
    name: String,
    #[serde(rename = "type")]
    kind: String,
    avatar: Option<String>,
    description: Option<String>,
    connector: Option<String>,
    modes: Vec<String>,
    default_mode: Option<String>,
    tags: Vec<String>,
    sort: i32,
    mentionable: bool,
    automated: bool,
    built_in: bool,
    visibility: Visibility,
    team_id: Option<TeamId>,
    locales: Json<Cow<'a, JsonObject>>,
    config: Json<Cow<'a, JsonObject>>,
    version: u64,
    created_at: DateTime,
    last_updated_at: DateTime,
    schema_version: i64,
}

/// The id of a stored assistant.
#[derive(Debug, Serialize, Deserialize)]
struct AssistantKey {
    app_id: AppId,
    assistant_id: AssistantId,
}

/// Returns the id of an assistant.
pub(super) fn assistant_key(app_id: &AppId, assistant_id: &AssistantId) -> Document {
    doc! { "app_id": app_id.as_str(), "assistant_id": assistant_id.as_str() }
}

impl<'a> From<&'a Assistant> for AssistantDocument<'a> {
    fn from(assistant: &'a Assistant) -> Self {
        let content = &assistant.content;
        Self {
            id: AssistantKey {
                app_id: assistant.app_id.clone(),
                assistant_id: assistant.assistant_id.clone(),
            },
            user_id: assistant.user_id.clone(),
            name: content.name.clone(),
            kind: content.kind.clone(),
            avatar: content.avatar.clone(),
            description: content.description.clone(),
            connector: content.connector.clone(),
            modes: content.modes.clone(),
            default_mode: content.default_mode.clone(),
            tags: content.tags.clone(),
            sort: content.sort,
            mentionable: content.mentionable,
            automated: content.automated,
            built_in: content.built_in,
            visibility: content.visibility,
            team_id: content.team_id.clone(),
            locales: Json(Cow::Borrowed(&content.locales)),
            config: Json(Cow::Borrowed(&content.config)),
            version: assistant.version,
            created_at: DateTime::from_chrono(assistant.created_at),
            last_updated_at: DateTime::from_chrono(assistant.last_updated_at),
            schema_version: SCHEMA_VERSION,
        }
    }
}

impl From<AssistantDocument<'_>> for Assistant {
    fn from(document: AssistantDocument<'_>) -> Self {
        Self {
            app_id: document.id.app_id,
            assistant_id: document.id.assistant_id,
            user_id: document.user_id,
            content: AssistantContent {
                name: document.name,
                kind: document.kind,
                avatar: document.avatar,
                description: document.description,
                connector: document.connector,
                modes: document.modes,
                default_mode: document.default_mode,
                tags: document.tags,
                sort: document.sort,
                mentionable: document.mentionable,
                automated: document.automated,
                built_in: document.built_in,
                visibility: document.visibility,
                team_id: document.team_id,
                locales: document.locales.0.into_owned(),
                config: document.config.0.into_owned(),
            },
            version: document.version,
            created_at: document.created_at.to_chrono(),
            last_updated_at: document.last_updated_at.to_chrono(),
        }
    }
}

/// Reads an assistant.
pub(crate) fn assistant_record(raw: &RawDocument) -> Result<Assistant, StoreError> {
    read_document::<AssistantDocument<'_>>(ASSISTANTS, raw).map(Assistant::from)
}
