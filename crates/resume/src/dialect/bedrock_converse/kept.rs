use serde_json::Value;

use crate::dialect::shapes::{Shape, Table, fits};

/// What the text of a `guardContent` block may have besides.
pub(super) const GUARD: Table = &[("qualifiers", Shape::ListOf(&Shape::Text))];

/// What a `citationsContent` block may have besides its text.
pub(super) const CITATIONS: Table = &[("citations", Shape::ListOf(&Shape::Fields(CITATION)))];

const CITATION: Table = &[
    (
        "location",
        Shape::Fields(&[
            ("documentChar", Shape::Fields(DOCUMENT_LOCATION)),
            ("documentChunk", Shape::Fields(DOCUMENT_LOCATION)),
            ("documentPage", Shape::Fields(DOCUMENT_LOCATION)),
            (
                "searchResultLocation",
                Shape::Fields(&[
                    ("end", Shape::Integer),
                    ("searchResultIndex", Shape::Integer),
                    ("start", Shape::Integer),
                ]),
            ),
            ("web", Shape::Fields(&[("domain", Shape::Text), ("url", Shape::Text)])),
        ]),
    ),
    ("source", Shape::Text),
    ("sourceContent", Shape::ListOf(&Shape::Fields(TEXT))),
    ("title", Shape::Text),
];

const DOCUMENT_LOCATION: Table =
    &[("documentIndex", Shape::Integer), ("end", Shape::Integer), ("start", Shape::Integer)];

const TEXT: Table = &[("text", Shape::Text)];

/// The blocks that stay as they are, each with its fields.
const KEPT: [(&str, Table, &[&str]); 2] = [
    (
        "searchResult",
        &[
            ("citations", Shape::Fields(&[("enabled", Shape::Flag)])),
            ("content", Shape::ListOf(&Shape::Fields(TEXT))),
            ("source", Shape::Text),
            ("title", Shape::Text),
        ],
        &["source", "title", "content"],
    ),
    (
        "document",
        &[
            ("citations", Shape::Fields(&[("enabled", Shape::Flag)])),
            ("context", Shape::Text),
            ("name", Shape::Text),
            ("source", Shape::Fields(&[("content", Shape::ListOf(&Shape::Fields(TEXT)))])),
        ],
        &["name", "source"],
    ),
];

/// The type of a call that the provider serves itself.
pub(super) const SERVED: &str = "server_tool_use";

/// The blocks of such a call: itself, and its result in the same message.
pub(super) const SERVED_BLOCKS: [&str; 2] = ["toolUse", "toolResult"];

/// Returns whether a content part of an answer is a call that the provider has served itself, or its result.
pub(super) fn is_served(part: &Value) -> bool {
    let name = SERVED_BLOCKS.into_iter().find(|name| part["type"] == *name);
    name.is_some_and(|name| part[name]["toolUseId"].is_string())
}

/// Returns whether a content part is a block that no other format has, and that the API accepts.
pub(super) fn is_kept(part: &Value) -> bool {
    let Some((name, table, required)) = KEPT.into_iter().find(|kept| part["type"] == kept.0) else {
        return false;
    };
    let Some(payload) = part[name].as_object() else { return false };
    let texts = payload.get("content").or_else(|| payload.get("source")?.get("content"));
    let texts = texts.and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let says = |text: &Value| text["text"].as_str().is_some_and(|it| !it.trim().is_empty());
    part.as_object().is_some_and(|part| part.len() == 2)
        && fits(payload, table)
        && required.iter().all(|field| payload.contains_key(*field))
        && payload.get("citations").is_none_or(|it| it.get("enabled").is_some())
        && !texts.is_empty()
        && texts.iter().all(says)
}

/// The same in a result, which has JSON as well.
pub(super) fn is_kept_in_result(part: &Value) -> bool {
    let is_json = part["type"] == "json" && part["json"].is_object();
    is_json && part.as_object().is_some_and(|part| part.len() == 2) || is_kept(part)
}
