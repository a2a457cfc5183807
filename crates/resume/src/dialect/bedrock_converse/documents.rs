use std::collections::HashSet;

use serde_json::Value;

use super::rules::{MAX_DOCUMENT_BYTES, MAX_DOCUMENTS, UNLIMITED_FORMAT};
use crate::Repair;

/// The longest name of a document.
const MAX_NAME_CHARS: usize = 200;

/// The name of a document without one.
const IMPUTED_NAME: &str = "document";

/// The names of all documents so far, in lower case: the API refuses a name that occurs twice (maximhq/bifrost#7003).
#[derive(Debug, Default)]
pub(super) struct DocumentNames(HashSet<String>);

/// Returns whether the API accepts a document of this size.
fn is_small(document: &Value) -> bool {
    let source = &document["source"];
    let bytes = match (source["bytes"].as_str(), source["text"].as_str()) {
        (Some(base64), _) => base64.trim_end_matches('=').len() / 4 * 3,
        (None, text) => text.map_or(0, str::len),
    };
    document["format"] == UNLIMITED_FORMAT || bytes <= MAX_DOCUMENT_BYTES
}

impl DocumentNames {
    /// Returns whether a request with the documents so far may have this one, too.
    pub(super) fn admits(&self, document: &Value) -> bool {
        self.0.len() < MAX_DOCUMENTS && is_small(document)
    }

    /// Returns the name of a document, and what to report if it is another one.
    pub(super) fn name(&mut self, original: Option<&str>) -> (String, Option<Repair>) {
        let accepted = original.map(document_name).filter(|name| !name.is_empty());
        let base = accepted.unwrap_or_else(|| IMPUTED_NAME.to_owned());
        let mut name = base.clone();
        let mut number = 1;
        while !self.0.insert(name.to_ascii_lowercase()) {
            number += 1;
            let end = format!(" {number}");
            let kept: String = base.chars().take(MAX_NAME_CHARS - end.len()).collect();
            name = format!("{}{end}", kept.trim_end());
        }
        let repair = match original {
            Some(original) if original == name => None,
            Some(_) => Some(Repair::PartFieldsRemoved),
            None => Some(Repair::FileNameAdded { name: IMPUTED_NAME }),
        };
        (name, repair)
    }
}

/// Returns a name of a document that the API accepts; empty if nothing of the name is left.
///
/// Other characters become spaces, and spaces in a row become one: vercel/ai#20365.
fn document_name(name: &str) -> String {
    let is_accepted = |it: char| it.is_ascii_alphanumeric() || "_-()[]".contains(it);
    let words = name.split(|it| !is_accepted(it)).filter(|word| !word.is_empty());
    let name = words.collect::<Vec<_>>().join(" ");
    name.chars().take(MAX_NAME_CHARS).collect::<String>().trim_end().to_owned()
}
