use records::{
    Assistant, AssistantContent, AssistantId, Caller, FieldChange, JsonObject, TeamId, Visibility,
};
use serde::Deserialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::filter::names_in;
use crate::extract::{IdempotencyKey, Keyed, given};
use crate::openapi::values;
use crate::problem::Problem;
use crate::unset_values::unless_empty;
use crate::wire::Time;

/// The settings of Yao that have texts for people.
pub(super) const PLACEHOLDER: &str = "placeholder";

/// Fields that only Reprise writes.
const TIMES: [&str; 2] = ["created_at", "updated_at"];

/// An assistant as Yao writes it. What has no field here is a setting: `prompts`, `options`, `kb`, `mcp`, `placeholder` and all
/// others are kept as they are. A field that is missing stays as it is, or gets its default; null removes it.
#[derive(Debug, Clone, Default, Deserialize, ToSchema)]
#[schema(as = AssistantModel, example = json!({
    "assistant_id": "weather_assistant",
    "name": "{{name}}",
    "connector": "deepseek.v3",
    "tags": ["weather"],
    "public": true,
    "locales": {"zh-cn": {"messages": {"name": "天气"}}},
    "prompts": [{"role": "system", "content": "Be brief."}]
}))]
pub(crate) struct AssistantModel {
    /// Minted by a creation if it is missing; ignored by a change.
    #[serde(default, deserialize_with = "unless_empty")]
    #[schema(value_type = Option<values::Name>)]
    pub(super) assistant_id: Option<AssistantId>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    name: FieldChange<String>,
    /// `assistant` by default.
    #[serde(default, rename = "type", deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    kind: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    avatar: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    description: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    connector: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>)]
    modes: FieldChange<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    default_mode: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Vec<String>>)]
    tags: FieldChange<Vec<String>>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<i32>)]
    sort: FieldChange<i32>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    mentionable: FieldChange<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    automated: FieldChange<bool>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    built_in: FieldChange<bool>,
    /// Whether every user of the app finds the assistant.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<bool>)]
    public: FieldChange<bool>,
    /// `private` (default) or `team`.
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<String>)]
    share: FieldChange<String>,
    #[serde(default, deserialize_with = "given")]
    #[schema(value_type = Option<Object>)]
    locales: FieldChange<JsonObject>,
    #[serde(flatten)]
    #[schema(value_type = Object)]
    settings: JsonObject,
}

impl Keyed for AssistantModel {
    fn set_key(&mut self, key: &IdempotencyKey) -> Result<(), Problem> {
        key.fill("assistant_id", &mut self.assistant_id)
    }
}

impl AssistantModel {
    /// Returns the content of a new assistant.
    pub(super) fn new_content(self, caller: &Caller) -> Result<AssistantContent, Problem> {
        let kind = AssistantContent::DEFAULT_KIND.to_owned();
        self.onto(AssistantContent { kind, ..AssistantContent::default() }, caller)
    }

    /// Returns what these fields make of a content.
    pub(super) fn onto(
        mut self,
        content: AssistantContent,
        caller: &Caller,
    ) -> Result<AssistantContent, Problem> {
        let visibility = self.visibility(content.visibility)?;
        let team_id = content.team_id.or_else(|| team_of(caller).cloned());
        if visibility == Visibility::Team && team_id.is_none() {
            let detail = "must not be team: the caller has no team";
            return Err(Problem::invalid_body("/share", detail));
        }
        self.settings.retain(|setting, _| !TIMES.contains(&setting.as_str()));
        let mut config = content.config;
        for (name, value) in self.settings {
            if value.is_null() {
                config.shift_remove(&name);
            } else {
                config.insert(name, value);
            }
        }
        let default_kind = || AssistantContent::DEFAULT_KIND.to_owned();
        Ok(AssistantContent {
            name: self.name.or_default().unwrap_or(content.name),
            kind: self.kind.applied_to(Some(content.kind)).unwrap_or_else(default_kind),
            avatar: self.avatar.applied_to(content.avatar),
            description: self.description.applied_to(content.description),
            connector: self.connector.applied_to(content.connector),
            modes: self.modes.or_default().unwrap_or(content.modes),
            default_mode: self.default_mode.applied_to(content.default_mode),
            tags: self.tags.or_default().unwrap_or(content.tags),
            sort: self.sort.or_default().unwrap_or(content.sort),
            mentionable: self.mentionable.or_default().unwrap_or(content.mentionable),
            automated: self.automated.or_default().unwrap_or(content.automated),
            built_in: self.built_in.or_default().unwrap_or(content.built_in),
            visibility,
            team_id,
            locales: self.locales.or_default().unwrap_or(content.locales),
            config,
        })
    }

    fn visibility(&self, before: Visibility) -> Result<Visibility, Problem> {
        if self.public == FieldChange::Keep && self.share == FieldChange::Keep {
            return Ok(before);
        }
        let is_public = self.public.or_default().unwrap_or(before == Visibility::App);
        let is_of_team = match &self.share {
            FieldChange::Keep => before == Visibility::Team,
            FieldChange::Clear => false,
            FieldChange::Set(share) => match share.as_str() {
                "private" | "" => false,
                "team" => true,
                _ => return Err(Problem::invalid_body("/share", "must be private or team")),
            },
        };
        Ok(match (is_public, is_of_team) {
            (true, _) => Visibility::App,
            (false, true) => Visibility::Team,
            (false, false) => Visibility::Private,
        })
    }
}

fn team_of(caller: &Caller) -> Option<&TeamId> {
    match caller {
        Caller::User { team_id, .. } => team_id.as_ref(),
        Caller::Service | Caller::Support { .. } => None,
    }
}

/// Returns an assistant as Yao shows it: its settings, and its fields beside them. Fields without a value are left out.
pub(super) fn model_of(assistant: Assistant) -> JsonObject {
    let Assistant { assistant_id, content, created_at, last_updated_at, .. } = assistant;
    let mut model = content.config;
    let mut put = |field: &str, value: Value| match value {
        Value::Null => drop(model.shift_remove(field)),
        value => drop(model.insert(field.to_owned(), value)),
    };
    put("assistant_id", assistant_id.as_str().into());
    put("type", content.kind.into());
    put("name", content.name.into());
    put("avatar", content.avatar.into());
    put("description", content.description.into());
    put("connector", content.connector.into());
    put("modes", content.modes.into());
    put("default_mode", content.default_mode.into());
    put("tags", content.tags.into());
    put("sort", content.sort.into());
    put("mentionable", content.mentionable.into());
    put("automated", content.automated.into());
    put("built_in", content.built_in.into());
    put("public", (content.visibility == Visibility::App).into());
    let is_of_team = content.visibility == Visibility::Team;
    put("share", if is_of_team { "team" } else { "private" }.into());
    put("locales", content.locales.into());
    put("created_at", json!(Time::from(created_at)));
    put("updated_at", json!(Time::from(last_updated_at)));
    model
}

/// Which fields of assistants are shown.
#[derive(Debug, Clone, Default)]
pub(super) struct Select(Option<Vec<String>>);

impl Select {
    /// Reads names that are separated by commas.
    pub(super) fn of(text: &str) -> Self {
        let names = names_in(text);
        Self((!names.is_empty()).then_some(names))
    }

    /// Shows an assistant: with these fields, or with all.
    pub(super) fn show(&self, assistant: Assistant) -> JsonObject {
        let mut model = model_of(assistant);
        if let Some(names) = &self.0 {
            model.retain(|field, _| field == "assistant_id" || names.contains(field));
        }
        model
    }

    /// Shows an assistant in a list: with these fields, or with all but the settings that its run needs.
    pub(super) fn show_in_list(&self, assistant: Assistant) -> JsonObject {
        let mut assistant = assistant;
        if self.0.is_none() {
            assistant.content.config.retain(|setting, _| setting == PLACEHOLDER);
        }
        self.show(assistant)
    }
}
