use std::convert::Infallible;

use persistence::AssistantFilter;
use records::{AssistantContent, AssistantId};

use crate::extract::Params;
use crate::problem::Problem;

/// The most ids of a filter.
const MAX_IDS: usize = 100;

/// Reads the filter of a list. Words that are no booleans are ignored, as the original does; ids that can be none are of no
/// assistant.
pub(super) fn filter_of(params: &mut Params) -> Result<AssistantFilter, Problem> {
    let mut text = |name: &str| -> Result<Option<String>, Problem> {
        let text = params.take_with(name, |text| Ok::<_, Infallible>(text.trim().to_owned()))?;
        Ok(text.filter(|text| !text.is_empty()))
    };
    let one = text("assistant_id")?;
    let several = [one, text("assistant_ids")?];
    let is_by_id = several.iter().flatten().count() > 0;
    let ids = several.iter().flatten().flat_map(|ids| ids.split(',')).map(str::trim);
    let ids: Vec<AssistantId> = ids.filter_map(|id| id.parse().ok()).collect();
    if ids.len() > MAX_IDS || is_by_id && ids.is_empty() {
        let rule = format!("must be 1 to {MAX_IDS} ids of assistants, separated by commas");
        return Err(Problem::invalid_parameter("assistant_ids", rule));
    }
    let mut names = |name: &str| text(name).map(|text| names_in(&text.unwrap_or_default()));
    let (mut kinds, tags) = (names("types")?, names("tags")?);
    kinds.extend(text("type")?);
    Ok(AssistantFilter {
        ids,
        user_id: None,
        tags,
        kinds,
        connector: text("connector")?,
        mentionable: text("mentionable")?.as_deref().and_then(boolean),
        automated: text("automated")?.as_deref().and_then(boolean),
        built_in: text("built_in")?.as_deref().and_then(boolean),
        text: text("keywords")?,
    })
}

/// Makes a filter that names no type one of assistants in the narrower sense, as the lists of the original do.
pub(super) fn of_default_kind(mut filter: AssistantFilter) -> AssistantFilter {
    if filter.kinds.is_empty() {
        filter.kinds.push(AssistantContent::DEFAULT_KIND.to_owned());
    }
    filter
}

/// Returns the names that a text has, separated by commas.
pub(super) fn names_in(text: &str) -> Vec<String> {
    let names = text.split(',').map(|name| name.trim().to_owned());
    names.filter(|name| !name.is_empty()).collect()
}

fn boolean(word: &str) -> Option<bool> {
    match word.to_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Some(true),
        "false" | "0" | "no" | "off" => Some(false),
        _ => None,
    }
}
