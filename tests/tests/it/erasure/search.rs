//! Searches every document of a database for tokens.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use futures::TryStreamExt as _;
use mongodb::bson::{Bson, Document};
use tests::database::Database;

/// What a database has of the tokens with a prefix.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The places of each token: collections and paths of fields.
    pub(super) tokens: BTreeMap<usize, BTreeSet<String>>,
    /// The places with the id of the person.
    pub(super) person: BTreeSet<String>,
}

impl Found {
    /// Reads every document.
    pub(super) async fn in_database(database: &Database, prefix: &str) -> Result<Self> {
        let mut found = Self::default();
        for name in database.raw().list_collection_names().await? {
            let mut documents =
                database.raw().collection::<Document>(&name).find(Document::new()).await?;
            while let Some(document) = documents.try_next().await? {
                found.visit_document(prefix, &name, &document);
            }
        }
        Ok(found)
    }

    /// Returns all places.
    pub(super) fn places(&self) -> BTreeSet<&str> {
        self.tokens.values().flatten().chain(&self.person).map(String::as_str).collect()
    }

    fn visit_document(&mut self, prefix: &str, place: &str, document: &Document) {
        for (key, value) in document {
            let is_token = key.contains(prefix);
            let inner = format!("{place}.{}", if is_token { "{}" } else { key });
            self.note(prefix, &inner, key);
            self.visit(prefix, &inner, value);
        }
    }

    fn visit(&mut self, prefix: &str, place: &str, value: &Bson) {
        match value {
            Bson::String(text) => self.note(prefix, place, text),
            Bson::Binary(binary) => {
                self.note(prefix, place, &String::from_utf8_lossy(&binary.bytes));
            }
            Bson::Array(items) => {
                for item in items {
                    self.visit(prefix, place, item);
                }
            }
            Bson::Document(document) => self.visit_document(prefix, place, document),
            _ => {}
        }
    }

    /// Notes the tokens in a text.
    pub(super) fn note(&mut self, prefix: &str, place: &str, text: &str) {
        for (at, _) in text.match_indices(prefix) {
            let rest = &text[at + prefix.len()..];
            match rest.get(..4).and_then(|digits| digits.parse().ok()) {
                Some(number) => {
                    self.tokens.entry(number).or_default().insert(place.to_owned());
                }
                None => {
                    self.person.insert(place.to_owned());
                }
            }
        }
    }
}
