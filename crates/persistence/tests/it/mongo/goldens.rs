//! Golden documents, and what every written document has in common with them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use bson::spec::ElementType;
use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt;
use persistence::mongo::{COLLECTIONS, StoredCollection};

use super::database::Database;

/// Returns the folder with the golden documents of a record.
fn folder(record: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stored").join(record)
}

/// Reads a golden document in canonical extended JSON, which keeps every BSON type exact.
fn read(path: &Path) -> Document {
    let text = fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap()
}

/// Returns the golden document of a version of a record.
pub(crate) fn golden(record: &str, version: u32) -> Document {
    read(&folder(record).join(format!("v{version}.json")))
}

/// Asserts that a document has exactly the fields of a golden one, with the same BSON types. A field that is
/// null in one of them may have any type in the other.
pub(crate) fn assert_fields(written: &Document, golden: &Document, record: &str) {
    let names = |document: &Document| document.keys().cloned().collect::<BTreeSet<_>>();
    assert_eq!(names(written), names(golden), "{record}");
    for (field, value) in written {
        let types = [value, &golden[field.as_str()]].map(Bson::element_type);
        assert!(
            types[0] == types[1] || types.contains(&ElementType::Null),
            "{record}.{field}: {types:?}"
        );
    }
}

/// Rollups have only the sums that are not zero, so no golden document has all of their fields.
const NOT_COMPARED: &str = "workflow_stats";

/// Fields that a document may lack, or whose value may have any type.
const FREE_FIELDS: [(&str, &str); 8] = [
    ("apps", "metadata_keys_version"),
    ("apps", "settings"),
    ("chat_blobs", "data"),
    ("chat_segments", "append_base"),
    ("chat_sessions", "recent_writes"),
    ("chat_sessions", "turns_without_messages"),
    ("tool_runs", "parameters"),
    ("tool_runs", "result"),
];

/// How many documents of a collection are compared.
const COMPARED_DOCUMENTS: i64 = 20;

/// The fields of a collection's golden documents.
struct GoldenFields {
    /// The types that each field has in the golden documents.
    types: BTreeMap<String, BTreeSet<u8>>,
    /// The fields that every golden document has.
    required: BTreeSet<String>,
}

static GOLDEN_FIELDS: LazyLock<BTreeMap<&str, GoldenFields>> = LazyLock::new(|| {
    let compared = COLLECTIONS.iter().filter(|stored| stored.name != NOT_COMPARED);
    compared.map(|stored| (stored.name, GoldenFields::of(stored))).collect()
});

impl GoldenFields {
    fn of(stored: &StoredCollection) -> Self {
        let files = stored.records.iter().flat_map(|record| fs::read_dir(folder(record)).unwrap());
        let goldens: Vec<Document> = files.map(|file| read(&file.unwrap().path())).collect();
        let mut types = BTreeMap::<String, BTreeSet<u8>>::new();
        for (field, value) in goldens.iter().flatten() {
            types.entry(field.clone()).or_default().insert(value.element_type() as u8);
        }
        let is_required = |field: &&String| goldens.iter().all(|it| it.contains_key(field));
        let required = types.keys().filter(is_required).cloned().collect();
        Self { types, required }
    }

    fn check(&self, collection: &str, written: &Document) {
        let is_free = |field: &str| FREE_FIELDS.contains(&(collection, field));
        for field in &self.required {
            let is_there = written.contains_key(field) || is_free(field);
            assert!(is_there, "{collection}: no {field} in {written}");
        }
        for (field, value) in written.iter().filter(|(field, _)| !is_free(field)) {
            let types = self.types.get(field);
            let types =
                types.unwrap_or_else(|| panic!("{collection}: {field} is new in {written}"));
            let found = value.element_type();
            let is_known = types.contains(&(found as u8))
                || found == ElementType::Null
                || types.contains(&(ElementType::Null as u8));
            assert!(is_known, "{collection}: the type of {field} is {found:?}: {written}");
        }
    }
}

/// Asserts that documents have the fields of the golden documents of their collection, with the same types.
/// Returns the collections with documents.
///
/// A change of a written document needs a new version, because older releases could not read it otherwise.
pub(crate) async fn assert_golden(database: &Database) -> BTreeSet<&'static str> {
    let mut with_documents = BTreeSet::new();
    for (&collection, fields) in &*GOLDEN_FIELDS {
        let stored = database.raw.collection::<RawDocumentBuf>(collection);
        let mut found = stored.find(doc! {}).limit(COMPARED_DOCUMENTS).await.unwrap();
        while let Some(document) = found.try_next().await.unwrap() {
            fields.check(collection, &Document::try_from(document).unwrap());
            with_documents.insert(collection);
        }
    }
    with_documents
}

/// What is done with each collection is a table of the page for operators, so that the two cannot differ.
#[test]
fn the_page_says_what_is_done_with_the_documents_of_each_collection() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/STORED-SHAPES.md");
    let page = fs::read_to_string(page).unwrap();
    for stored in COLLECTIONS {
        let StoredCollection { name, rights, export, erasure, check, purge, archive, .. } = stored;
        let row =
            format!("| {name} | {rights} | {export} | {erasure} | {purge} | {archive} | {check} |");
        assert!(page.lines().any(|line| line == row), "docs/STORED-SHAPES.md lacks:\n{row}");
    }
}
