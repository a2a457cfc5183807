//! Tests that this release reads and rewrites the documents in `fixtures/stored`, and that older releases
//! refuse those with newer shapes.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use bson::{Bson, Document, RawDocumentBuf};

use super::fields::Fields;
use super::{NEWEST_VERSION, SCHEMA_VERSION, USER_USAGE_VERSION};
use crate::StoreError;
use crate::mongo::collections::{COLLECTIONS, StoredCollection};

struct Fixture {
    record: String,
    version: i64,
    raw: RawDocumentBuf,
}

fn children(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

fn fixtures() -> Vec<Fixture> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/stored");
    let files = children(&folder).into_iter().flat_map(|record| children(&record));
    let fixtures = files.map(|path| {
        let text = fs::read_to_string(&path).unwrap();
        let document: Document = serde_json::from_str(&text).unwrap();
        let record = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
        let version = path.file_stem().unwrap().to_str().unwrap();
        let version = version.strip_prefix('v').unwrap().parse().unwrap();
        Fixture { record, version, raw: RawDocumentBuf::try_from(&document).unwrap() }
    });
    fixtures.collect()
}

/// Returns the collection that holds a record.
fn collection(record: &str) -> &'static StoredCollection {
    let mut holding = COLLECTIONS.iter().filter(|stored| stored.records.contains(&record));
    let (Some(collection), None) = (holding.next(), holding.next()) else {
        panic!("not one collection holds the record of fixtures/stored/{record}");
    };
    collection
}

/// Reads a fixture as the calls of its record do. Returns it as the record's struct writes it.
fn rewrite(Fixture { record, version, raw }: &Fixture) -> Option<RawDocumentBuf> {
    let rewritten = (collection(record).rewrite)(raw);
    rewritten.unwrap_or_else(|error| panic!("{record} v{version}: {error:?}"))
}

/// The records that are not written as one struct: field by field, by an update, or in an older order of fields.
const NOT_COMPARED: [&str; 14] = [
    "chat_fork",
    "chat_participants",
    "chat_purged",
    "chat_segment",
    "chat_session",
    "chat_shared",
    "context_snapshot",
    "message_version",
    "message_version_deleted",
    "presence",
    "resume_point",
    "resume_point_cut",
    "rollup",
    "workflow_stats",
];

#[test]
fn a_struct_writes_its_fixture_byte_for_byte() {
    let mut not_compared = BTreeSet::new();
    for fixture in fixtures() {
        match rewrite(&fixture) {
            Some(again) => assert_eq!(again, fixture.raw, "{}", fixture.record),
            None => drop(not_compared.insert(fixture.record)),
        }
    }
    assert!(not_compared.iter().eq(NOT_COMPARED), "{not_compared:?}");
}

#[test]
fn every_record_has_a_fixture() {
    let records = COLLECTIONS.iter().flat_map(|stored| stored.records);
    let records: BTreeSet<String> = records.map(|record| (*record).to_owned()).collect();
    let with_fixture: BTreeSet<String> = fixtures().into_iter().map(|it| it.record).collect();
    assert_eq!(records, with_fixture);
}

#[test]
fn this_release_reads_every_fixture() {
    let fixtures = fixtures();
    for fixture in &fixtures {
        let Fixture { record, version, raw } = fixture;
        assert_eq!(raw.get_i64("schema_version").unwrap(), *version, "{record}");
        assert!(*version <= NEWEST_VERSION, "{record} v{version}");
        rewrite(fixture);
    }
    // No document is marked for a later format.
    assert!(fixtures.iter().any(|fixture| fixture.version == USER_USAGE_VERSION));
}

/// The fields whose ids and names earlier releases stored with any character but control characters.
const NAMES: [&str; 20] = [
    "agent",
    "author",
    "call_id",
    "connection_id",
    "deleted_by",
    "display_name",
    "edited_by",
    "entry_id",
    "event_id",
    "lease_id",
    "name",
    "owner",
    "pending_inputs",
    "request_id",
    "stack_id",
    "stack_parent_id",
    "stack_path",
    "team_id",
    "user_id",
    "workflow_name",
];

/// Adds an invisible character and a blank to every name.
fn with_odd_names(value: Bson, is_name: bool) -> Bson {
    match value {
        Bson::String(text) if is_name => Bson::String(format!("{text}\u{200b} ")),
        Bson::Array(items) => {
            items.into_iter().map(|item| with_odd_names(item, is_name)).collect::<Vec<_>>().into()
        }
        Bson::Document(fields) => {
            let odd = fields.into_iter().map(|(key, value)| {
                let is_name = NAMES.contains(&key.as_str());
                (key, with_odd_names(value, is_name))
            });
            Bson::Document(odd.collect())
        }
        other => other,
    }
}

#[test]
fn names_that_are_refused_today_are_read_where_they_are_stored() {
    for Fixture { record, version, raw } in fixtures() {
        // The name in a rollup of a chat is the id of the chat. An audit entry holds no names, and its request id is a number.
        if matches!(record.as_str(), "rollup" | "workflow_stats" | "audit_entry") {
            continue;
        }
        let document = Document::try_from(raw.clone()).unwrap();
        let Bson::Document(odd) = with_odd_names(document.into(), false) else { unreachable!() };
        let raw = RawDocumentBuf::try_from(&odd).unwrap();
        rewrite(&Fixture { record, version, raw });
    }
}

#[test]
fn the_release_before_a_shape_refuses_exactly_the_fixtures_that_use_it() {
    for Fixture { record, version, raw } in fixtures() {
        for supported in SCHEMA_VERSION..=NEWEST_VERSION {
            match Fields::open_up_to(supported, "(a collection)", "(an id)", &raw) {
                Ok(_) => assert!(version <= supported, "{record} v{version}"),
                Err(StoreError::UnsupportedVersion { found, .. }) => {
                    assert!(version > supported && found == version, "{record} v{version}");
                }
                Err(error) => panic!("{record} v{version}: {error:?}"),
            }
        }
    }
}
