mod change;
mod texts;

pub use change::AssistantChange;
pub use texts::LocaleTexts;

use chrono::{DateTime, Utc};

use crate::ids::{NAME_RULE, is_name};
use crate::json::{self, JsonObject, Limits};
use crate::{
    AppId, AssistantId, FieldChange, Invalid, Location, Segment, SizeLimit, TeamId, UserId,
    Visibility,
};

/// An assistant: what chats show of the agent that they talk to, and the settings with which it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct Assistant {
    /// The app of the assistant.
    pub app_id: AppId,
    /// The id of the assistant, unique within its app.
    pub assistant_id: AssistantId,
    /// The person to whom the assistant belongs; `None` if it belongs to the app.
    pub user_id: Option<UserId>,
    /// What callers write.
    pub content: AssistantContent,
    /// Grows with every change, from 1.
    pub version: u64,
    /// When the assistant was created.
    pub created_at: DateTime<Utc>,
    /// When the assistant last changed.
    pub last_updated_at: DateTime<Utc>,
}

/// What callers write of an assistant.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssistantContent {
    /// The name for people, 1 to [`Limits::TITLE_CHARS`] characters. It may hold `{{key}}`; see [`LocaleTexts`].
    pub name: String,
    /// The kind of assistant, in the words of the app.
    pub kind: String,
    /// The address or the data of a picture, at most [`Limits::ASSISTANT_TEXT_BYTES`].
    pub avatar: Option<String>,
    /// What the assistant is for, at most [`Limits::ASSISTANT_TEXT_BYTES`]. It may hold `{{key}}`, as the name may.
    pub description: Option<String>,
    /// The connector to a model.
    pub connector: Option<String>,
    /// The modes in which the assistant runs; none means that it runs in every mode.
    pub modes: Vec<String>,
    /// The mode in which it runs unless a chat says otherwise.
    pub default_mode: Option<String>,
    /// What people find the assistant by.
    pub tags: Vec<String>,
    /// The place of the assistant in lists, smallest first.
    pub sort: i32,
    /// Whether people may mention the assistant in a chat.
    pub mentionable: bool,
    /// Whether the assistant runs without a person.
    pub automated: bool,
    /// Whether the assistant comes with the app.
    pub built_in: bool,
    /// Who may find and read the assistant, besides its owner.
    pub visibility: Visibility,
    /// The team that may read the assistant if its visibility is [`Visibility::Team`].
    pub team_id: Option<TeamId>,
    /// The texts of other languages: an object of texts for each language tag; see [`LocaleTexts`].
    pub locales: JsonObject,
    /// The settings with which the assistant runs: any data of the caller, at most [`Limits::ASSISTANT_CONFIG_BYTES`].
    pub config: JsonObject,
}

/// An assistant to store in place of the one that has its id, if there is one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct NewAssistant {
    /// What the owner becomes. A new assistant without one belongs to the app.
    pub user_id: FieldChange<UserId>,
    /// The content.
    pub content: AssistantContent,
}

impl Assistant {
    /// Returns the entity tag, which changes with every change. An assistant that is created again under the id of a deleted
    /// one has another.
    pub fn entity_tag(&self) -> String {
        format!("{:x}-{}", self.created_at.timestamp_millis(), self.version)
    }
}

impl AssistantContent {
    /// The kind of an assistant for which the caller names none.
    pub const DEFAULT_KIND: &str = "assistant";

    /// Returns the size of what callers wrote, in bytes.
    pub fn bytes(&self) -> usize {
        let texts = [Some(&self.name), self.avatar.as_ref(), self.description.as_ref()];
        let texts: usize = texts.into_iter().flatten().map(String::len).sum();
        let names: usize = self.tags.iter().chain(&self.modes).map(String::len).sum();
        // Everything that is stored was measured before.
        let objects = [&self.locales, &self.config].map(json::measure_object);
        texts + names + objects.into_iter().map(Result::unwrap_or_default).sum::<usize>()
    }

    /// Checks every field.
    pub fn check(&self) -> Result<(), Invalid> {
        let characters = self.name.chars().count();
        if !(1..=Limits::TITLE_CHARS).contains(&characters) {
            let limit = format!("must be 1 to {} characters", Limits::TITLE_CHARS);
            return Err(Invalid::value("/name", limit));
        }
        for (pointer, name) in [
            ("/type", Some(&self.kind)),
            ("/connector", self.connector.as_ref()),
            ("/default_mode", self.default_mode.as_ref()),
        ] {
            name.map_or(Ok(()), |name| check_name(pointer, name))?;
        }
        check_names("/modes", &self.modes)?;
        check_names("/tags", &self.tags)?;
        for (pointer, text) in
            [("/avatar", self.avatar.as_ref()), ("/description", self.description.as_ref())]
        {
            let bytes = text.map_or(0, String::len);
            SizeLimit::Assistant.check(pointer, bytes, Limits::ASSISTANT_TEXT_BYTES)?;
        }
        check_locales(&self.locales)?;
        let config = json::measure_object(&self.config).map_err(|e| e.below("/config"))?;
        SizeLimit::Assistant.check("/config", config, Limits::ASSISTANT_CONFIG_BYTES)?;
        if self.visibility == Visibility::Team && self.team_id.is_none() {
            return Err(Invalid::value("/visibility", "must not be team without a team_id"));
        }
        Ok(())
    }
}

fn check_name(location: impl Into<Location>, name: &str) -> Result<(), Invalid> {
    if is_name(name) { Ok(()) } else { Err(Invalid::value(location, NAME_RULE)) }
}

fn check_names(pointer: &'static str, names: &[String]) -> Result<(), Invalid> {
    if names.len() > Limits::ASSISTANT_NAMES {
        let limit = format!("must be at most {} names", Limits::ASSISTANT_NAMES);
        return Err(Invalid::value(pointer, limit));
    }
    names.iter().enumerate().try_for_each(|(index, name)| {
        check_name(Location::from(Segment::Index(index)).below(pointer), name)
    })
}

fn check_locales(locales: &JsonObject) -> Result<(), Invalid> {
    if locales.len() > Limits::ASSISTANT_NAMES {
        let limit = format!("must be at most {} languages", Limits::ASSISTANT_NAMES);
        return Err(Invalid::value("/locales", limit));
    }
    for (tag, texts) in locales {
        let location = || Location::from(Segment::key(tag.clone())).below("/locales");
        check_name(location(), tag)?;
        if !texts.is_object() {
            return Err(Invalid::value(location(), "must be an object of texts"));
        }
    }
    let bytes = json::measure_object(locales).map_err(|e| e.below("/locales"))?;
    SizeLimit::Assistant.check("/locales", bytes, Limits::ASSISTANT_LOCALES_BYTES)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn content() -> AssistantContent {
        AssistantContent {
            name: "Weather".to_owned(),
            kind: AssistantContent::DEFAULT_KIND.to_owned(),
            ..AssistantContent::default()
        }
    }

    fn object(value: Value) -> JsonObject {
        let Value::Object(object) = value else { panic!("{value}") };
        object
    }

    #[test]
    fn errors_point_at_their_fields() {
        let pointer = |content: AssistantContent| content.check().unwrap_err().location.to_string();
        assert!(content().check().is_ok());
        assert_eq!(pointer(AssistantContent::default()), "/name");
        assert_eq!(pointer(AssistantContent { kind: String::new(), ..content() }), "/type");
        let connector = Some(" a".to_owned());
        assert_eq!(pointer(AssistantContent { connector, ..content() }), "/connector");
        let tags = vec!["a".to_owned(), String::new()];
        assert_eq!(pointer(AssistantContent { tags, ..content() }), "/tags/1");
        let modes = vec!["m".to_owned(); Limits::ASSISTANT_NAMES + 1];
        assert_eq!(pointer(AssistantContent { modes, ..content() }), "/modes");
        let description = Some("x".repeat(Limits::ASSISTANT_TEXT_BYTES + 1));
        assert_eq!(pointer(AssistantContent { description, ..content() }), "/description");
        let locales = object(json!({"de": {}, "fr": "texts"}));
        assert_eq!(pointer(AssistantContent { locales, ..content() }), "/locales/fr");
        let tags = 0..=Limits::ASSISTANT_NAMES;
        let locales = tags.map(|tag| (tag.to_string(), json!({}))).collect();
        assert_eq!(pointer(AssistantContent { locales, ..content() }), "/locales");
        let config = object(json!({"n": u64::MAX}));
        assert_eq!(pointer(AssistantContent { config, ..content() }), "/config/n");
        let config = object(json!({"prompt": "x".repeat(Limits::ASSISTANT_CONFIG_BYTES)}));
        assert_eq!(pointer(AssistantContent { config, ..content() }), "/config");
        let visibility = Visibility::Team;
        assert_eq!(pointer(AssistantContent { visibility, ..content() }), "/visibility");
    }

    #[test]
    fn an_assistant_that_is_created_again_has_another_entity_tag() {
        let created_at = DateTime::from_timestamp_millis(1_000).unwrap();
        let assistant = Assistant {
            app_id: AppId::parse("acme").unwrap(),
            assistant_id: AssistantId::parse("weather").unwrap(),
            user_id: None,
            content: content(),
            version: 1,
            created_at,
            last_updated_at: created_at,
        };
        let later = DateTime::from_timestamp_millis(1_001).unwrap();
        let again = Assistant { created_at: later, ..assistant.clone() };
        let changed = Assistant { version: 2, ..assistant.clone() };
        assert_ne!(assistant.entity_tag(), again.entity_tag());
        assert_ne!(assistant.entity_tag(), changed.entity_tag());
    }
}
