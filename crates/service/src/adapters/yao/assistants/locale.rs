use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header::ACCEPT_LANGUAGE;
use axum::http::request::Parts;
use records::{Assistant, LocaleTexts};
use serde_json::Value;

use super::model::PLACEHOLDER;
use crate::extract::foreign_params;
use crate::operation::{Description, Input};
use crate::problem::Problem;

/// The language of assistants: the parameter `locale`, or else the first tag of the header `Accept-Language`.
#[derive(Debug, Clone, Default)]
pub(in super::super) struct Locale(Option<String>);

/// The routes describe the parameter themselves.
impl Input for Locale {
    fn describe(_description: &mut Description) {}
}

impl<S: Sync> FromRequestParts<S> for Locale {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        let given = foreign_params(parts)
            .take_with("locale", |text| Ok::<_, Infallible>(text.trim().to_owned()))?;
        let accepted = parts.headers.get(ACCEPT_LANGUAGE).and_then(|value| value.to_str().ok());
        Ok(Self::of(given.as_deref(), accepted))
    }
}

impl Locale {
    fn of(given: Option<&str>, accepted: Option<&str>) -> Self {
        let first = accepted.and_then(|tags| tags.split([',', ';']).next()).map(str::trim);
        let tags = [given, first.filter(|tag| *tag != "*")];
        let tag = tags.into_iter().flatten().find(|tag| !tag.is_empty());
        Self(tag.map(str::to_lowercase))
    }

    /// Returns an assistant in the language, with the placeholder of its settings.
    pub(super) fn translate(&self, assistant: Assistant) -> Assistant {
        let Some(tag) = &self.0 else { return assistant };
        let mut content = assistant.content.clone().in_locale(tag);
        if let Some(placeholder) = content.config.get_mut(PLACEHOLDER) {
            let (texts, mut room) = (assistant.content.texts(tag), LocaleTexts::room());
            fill(placeholder, &mut |text| texts.fill(text, &mut room));
        }
        Assistant { content, ..assistant }
    }
}

/// Replaces each text of a value.
fn fill(value: &mut Value, filled: &mut impl FnMut(&str) -> String) {
    match value {
        Value::String(text) => *text = filled(text),
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, filled)),
        Value::Object(fields) => fields.values_mut().for_each(|field| fill(field, filled)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parameter_wins_over_the_first_accepted_language() {
        for (given, accepted, expected) in [
            (Some("zh-CN"), Some("de"), Some("zh-cn")),
            (Some(""), Some("de-AT,fr;q=0.5"), Some("de-at")),
            (None, Some("de;q=0.5, fr"), Some("de")),
            (None, Some("*"), None),
            (None, None, None),
        ] {
            assert_eq!(
                Locale::of(given, accepted).0.as_deref(),
                expected,
                "{given:?} {accepted:?}"
            );
        }
    }
}
