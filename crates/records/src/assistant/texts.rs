use serde_json::Value;

use super::AssistantContent;
use crate::json::{JsonObject, Limits};

/// The texts of an assistant in one language.
///
/// The texts are those of the exact tag, else those of its language: for `de-AT` those of `de`. A text that replaces a field has
/// the name of the field. In every text, `{{key}}` stands for the text of that key; it is left as it is if there is none, or no
/// room for it. The texts of a tag may also be one level deeper, in `messages`.
#[derive(Debug, Clone, Copy)]
pub struct LocaleTexts<'a>(Option<&'a JsonObject>);

impl AssistantContent {
    /// Returns the texts for a language tag, in any case. Without any, all texts stay as they are.
    pub fn texts(&self, tag: &str) -> LocaleTexts<'_> {
        let of = |wanted: &str| {
            let mut locales = self.locales.iter();
            locales.find(|(tag, _)| tag.eq_ignore_ascii_case(wanted)).map(|(_, texts)| texts)
        };
        let language = tag.split(['-', '_']).next().filter(|language| !language.is_empty());
        LocaleTexts(of(tag).or_else(|| language.and_then(of)).and_then(Value::as_object))
    }

    /// Returns the texts of every language.
    pub fn all_texts(&self) -> impl Iterator<Item = LocaleTexts<'_>> {
        self.locales.values().map(|texts| LocaleTexts(texts.as_object()))
    }

    /// Returns the content with its name, its description and its tags in a language.
    #[must_use]
    pub fn in_locale(self, tag: &str) -> Self {
        let (texts, room) = (self.texts(tag), &mut LocaleTexts::room());
        let name = texts.field("name", &self.name, room);
        let description = match &self.description {
            Some(description) => Some(texts.field("description", description, room)),
            None => texts.get("description").map(|text| texts.fill(text, room)),
        };
        let tags = self.tags.iter().map(|tag| texts.fill(tag, room)).collect();
        Self { name, description, tags, ..self }
    }
}

impl LocaleTexts<'_> {
    /// Returns how many bytes keys may add to the texts of an assistant: a text of short keys could become as large as anything.
    pub fn room() -> usize {
        2 * Limits::ASSISTANT_TEXT_BYTES
    }

    /// Returns a field in the language. What its keys add is taken from the room.
    pub fn field(&self, name: &str, base: &str, room: &mut usize) -> String {
        self.fill(self.get(name).unwrap_or(base), room)
    }

    /// Returns whether a field may read otherwise in the language.
    pub fn changes(&self, name: &str, base: &str) -> bool {
        self.get(name).is_some() || base.contains("{{")
    }

    /// Puts the texts of the language in place of their `{{key}}`, as long as there is room.
    pub fn fill(&self, text: &str, room: &mut usize) -> String {
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, inner)) = rest.split_once("{{") {
            filled.push_str(before);
            let known = inner.split_once("}}");
            let known = known.and_then(|(key, after)| Some((self.get(key.trim())?, after)));
            let known = known.filter(|(text, _)| text.len() <= *room);
            *room -= known.map_or(0, |(text, _)| text.len());
            let (text, after) = known.unwrap_or(("{{", inner));
            filled.push_str(text);
            rest = after;
        }
        filled + rest
    }

    fn get(&self, key: &str) -> Option<&str> {
        let texts = self.0?;
        let nested = texts.get("messages").and_then(Value::as_object);
        nested.and_then(|texts| texts.get(key)).or_else(|| texts.get(key)).and_then(Value::as_str)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn content(name: &str, locales: Value) -> AssistantContent {
        let Value::Object(locales) = locales else { panic!("{locales}") };
        AssistantContent { name: name.to_owned(), locales, ..AssistantContent::default() }
    }

    #[test]
    fn the_exact_tag_is_looked_up_first_then_the_language_then_the_base() {
        let content =
            content("Weather", json!({"de": {"name": "Wetter"}, "de-AT": {"name": "Wetta"}}));
        let name = |tag: &str| content.clone().in_locale(tag).name;
        for (tag, expected) in [
            ("de-AT", "Wetta"),
            ("DE-at", "Wetta"),
            ("de", "Wetter"),
            ("de-CH", "Wetter"),
            ("de_CH", "Wetter"),
            ("fr", "Weather"),
            ("d", "Weather"),
            ("", "Weather"),
        ] {
            assert_eq!(name(tag), expected, "{tag}");
        }
    }

    #[test]
    fn keys_in_braces_are_replaced_and_unknown_ones_are_left() {
        let locales = json!({"de": {"messages": {"who": "Welt", "n": 1, "loop": "{{loop}}"}}});
        for (base, expected) in [
            ("Hello {{who}}!", "Hello Welt!"),
            ("{{ who }}{{who}}", "WeltWelt"),
            ("{{what}} {{who}}", "{{what}} Welt"),
            ("{{n}}", "{{n}}"),
            ("{{loop}}", "{{loop}}"),
            ("{{{{who}}", "{{Welt"),
            ("{{who", "{{who"),
            ("}}{{", "}}{{"),
            ("äöü{{who}}ß", "äöüWeltß"),
        ] {
            assert_eq!(content(base, locales.clone()).in_locale("de").name, expected, "{base}");
            assert_eq!(content(base, locales.clone()).in_locale("fr").name, base);
        }
    }

    #[test]
    fn keys_add_no_more_than_there_is_room_for() {
        let text = "x".repeat(1_000);
        let mut content = content("{{k}}", json!({"de": {"k": text}}));
        content.description = Some("{{k}}".repeat(10_000));
        content.tags = vec!["{{k}}".to_owned(); 64];
        let before = content.bytes();
        let filled = content.in_locale("de");
        assert_eq!(filled.name, text);
        let added = filled.bytes() - before;
        assert!((LocaleTexts::room() - 2_000..=LocaleTexts::room()).contains(&added), "{added}");
        assert!(filled.description.unwrap().ends_with("{{k}}"));
    }

    #[test]
    fn a_locale_may_have_a_description_that_the_base_lacks() {
        let content = content("Weather", json!({"de": {"description": "{{d}}", "d": "Regen"}}));
        assert_eq!(content.clone().in_locale("de").description.as_deref(), Some("Regen"));
        assert_eq!(content.in_locale("fr").description, None);
    }
}
