use records::{Assistant, AssistantContent, JsonObject};
use serde::Serialize;
use utoipa::ToSchema;

use super::Time;
use super::values;

/// An assistant.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Assistant)]
pub(crate) struct AssistantResponse {
    #[schema(example = "acme_corp")]
    app_id: String,
    #[schema(example = "weather_assistant")]
    assistant_id: String,
    /// The user to whom the assistant belongs; null if it belongs to the app.
    #[schema(example = "user_alice_456")]
    user_id: Option<String>,
    #[schema(example = "Weather Assistant")]
    name: String,
    /// The kind of assistant, in the words of the app.
    #[serde(rename = "type")]
    #[schema(example = "assistant")]
    kind: String,
    /// The address or the data of a picture.
    avatar: Option<String>,
    description: Option<String>,
    /// The connector to a model.
    connector: Option<String>,
    /// The modes in which the assistant runs; none means every mode.
    modes: Vec<String>,
    /// The mode in which it runs unless a chat says otherwise.
    default_mode: Option<String>,
    tags: Vec<String>,
    /// The place of the assistant in lists, smallest first.
    #[schema(example = 0)]
    sort: i32,
    /// Whether people may mention the assistant in a chat.
    mentionable: bool,
    /// Whether the assistant runs without a person.
    automated: bool,
    /// Whether the assistant comes with the app.
    built_in: bool,
    /// Who may find and read the assistant, besides its owner.
    #[schema(value_type = values::Visibility)]
    visibility: &'static str,
    /// The team that the assistant is shared with.
    team_id: Option<String>,
    /// The texts of other languages, by language tag.
    #[schema(value_type = Object)]
    locales: JsonObject,
    /// The settings with which the assistant runs.
    #[schema(value_type = Object)]
    config: JsonObject,
    /// Grows with every change, from 1.
    #[schema(example = 1)]
    version: u64,
    created_at: Time,
    last_updated_at: Time,
}

impl From<Assistant> for AssistantResponse {
    fn from(assistant: Assistant) -> Self {
        let content: AssistantContent = assistant.content;
        Self {
            app_id: assistant.app_id.into(),
            assistant_id: assistant.assistant_id.into(),
            user_id: assistant.user_id.map(Into::into),
            name: content.name,
            kind: content.kind,
            avatar: content.avatar,
            description: content.description,
            connector: content.connector,
            modes: content.modes,
            default_mode: content.default_mode,
            tags: content.tags,
            sort: content.sort,
            mentionable: content.mentionable,
            automated: content.automated,
            built_in: content.built_in,
            visibility: content.visibility.as_str(),
            team_id: content.team_id.map(Into::into),
            locales: content.locales,
            config: content.config,
            version: assistant.version,
            created_at: assistant.created_at.into(),
            last_updated_at: assistant.last_updated_at.into(),
        }
    }
}
