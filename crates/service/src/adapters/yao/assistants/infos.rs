//! What the messages of a session show of their assistants.

use std::collections::{BTreeMap, BTreeSet};

use persistence::{AssistantFilter, AssistantPage, Store, StoreError};
use records::{Assistant, AssistantId, Permission, Scope};
use serde_json::{Value, json};

use super::locale::Locale;

/// How many assistants are looked up at a time.
const AT_ONCE: usize = 100;

/// Returns the assistants of messages that the caller may read, by their ids; those that have [`AssistantPage::BYTES`] together.
pub(in super::super) async fn infos_of(
    store: &dyn Store,
    scope: &Scope,
    messages: &[Value],
    locale: &Locale,
) -> Result<BTreeMap<String, Value>, StoreError> {
    let ids = messages.iter().filter_map(|message| message["assistant_id"].as_str());
    let ids: BTreeSet<AssistantId> = ids.filter_map(|id| id.parse().ok()).collect();
    let ids: Vec<AssistantId> = ids.into_iter().collect();
    let scope = scope.needing(Permission::Read);
    let (mut infos, mut bytes) = (BTreeMap::new(), 0);
    for ids in ids.chunks(AT_ONCE) {
        let filter = AssistantFilter { ids: ids.to_vec(), ..AssistantFilter::default() };
        let mut after = None;
        loop {
            let page = store.list_assistants(&scope, &filter, AT_ONCE, after.as_ref()).await?;
            for assistant in page.assistants {
                let (id, info) =
                    (assistant.assistant_id.to_string(), info(locale.translate(assistant)));
                bytes += info.to_string().len();
                if bytes > AssistantPage::BYTES {
                    return Ok(infos);
                }
                infos.insert(id, info);
            }
            after = page.next;
            if after.is_none() {
                break;
            }
        }
    }
    Ok(infos)
}

/// Returns what messages show of an assistant. What has no value is left out.
fn info(assistant: Assistant) -> Value {
    let content = assistant.content;
    let mut info = json!({ "assistant_id": assistant.assistant_id.as_str(), "name": content.name });
    for (field, text) in [
        ("avatar", content.avatar),
        ("description", content.description),
        ("connector", content.connector),
        ("default_mode", content.default_mode),
    ] {
        if let Some(text) = text {
            info[field] = text.into();
        }
    }
    if !content.modes.is_empty() {
        info["modes"] = content.modes.into();
    }
    info
}
