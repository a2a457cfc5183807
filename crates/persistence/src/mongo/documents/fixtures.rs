//! Tests that this release reads and rewrites the documents in `fixtures/stored`, and that older releases
//! refuse those with newer shapes.

use std::fs;
use std::path::{Path, PathBuf};

use bson::{Document, RawDocumentBuf};
use records::ChatId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::fields::Fields;
use super::stored::read_document;
use super::*;
use crate::StoreError;
use crate::mongo::engine::json::Json;

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

/// Reads a fixture with the reader of its record.
fn read(Fixture { record, raw, .. }: &Fixture) -> Result<(), StoreError> {
    let chat_id = ChatId::parse("chat_golden").unwrap();
    match record.as_str() {
        "app" => app_record(raw).map(drop),
        "chat_blob" => blob_data(raw).map(drop),
        "chat_fork" | "chat_session" => {
            let fields = open_chat_session(raw)?;
            chat_session_record(raw)?;
            Lineage::read(&chat_id, &fields)?;
            StoredContext::in_session(&fields)?;
            Tail::read(&fields)?;
            let mut messages = fields.documents("messages")?;
            messages.try_for_each(|message| StoredMessage::read(0, &message?).map(drop))
        }
        "chat_participants" => participant_records(raw).map(drop),
        "chat_segment" => Segment::read(&chat_id, raw).map(drop),
        "context_snapshot" => StoredContext::open(&chat_id, raw).map(drop),
        "input_request" => input_record(raw).map(drop),
        "message_version" => version_message(&chat_id, raw).map(drop),
        "presence" => announcement_record(raw).map(drop),
        "provider_call" => call_record(&open_call(raw)?).map(drop),
        "resume_point" | "resume_point_cut" => point_record(raw).map(drop),
        "rollup" | "workflow_stats" => rollup_sums(raw).map(drop),
        "status_change" => status_change_record(raw).map(drop),
        "store_format" => format_number(raw).map(drop),
        "ticket" => ticket_record(raw).map(drop),
        "turn_without_messages" => turn_without_messages_digest(raw).map(drop),
        "wallet" => stored_wallet(raw).map(drop),
        "wallet_entry" => line_record(raw).map(drop),
        other => panic!("no reader is named here for fixtures/stored/{other}"),
    }
}

/// Reads a fixture into its struct and encodes it again. Returns `None` for a record that is not compared.
fn rewritten(Fixture { record, raw, .. }: &Fixture) -> Option<RawDocumentBuf> {
    fn again<'de, D: Deserialize<'de> + Serialize>(raw: &'de RawDocumentBuf) -> RawDocumentBuf {
        encode(&read_document::<D>("(a collection)", raw).unwrap()).unwrap()
    }
    match record.as_str() {
        "app" => Some(again::<AppDocument>(raw)),
        "chat_blob" => Some(again::<BlobDocument<Json<Value>>>(raw)),
        "input_request" => Some(again::<InputRequestDocument<'_>>(raw)),
        "provider_call" => Some(again::<CallDocument>(raw)),
        "status_change" => Some(again::<StatusChangeDocument>(raw)),
        "store_format" => Some(again::<FormatDocument>(raw)),
        "ticket" => Some(again::<TicketDocument>(raw)),
        "turn_without_messages" => Some(again::<TurnWithoutMessagesDocument>(raw)),
        "wallet" => Some(again::<WalletDocument>(raw)),
        "wallet_entry" => Some(again::<LineDocument>(raw)),
        _ => None,
    }
}

#[test]
fn a_struct_writes_its_fixture_byte_for_byte() {
    let rewritten = fixtures().into_iter().filter_map(|fixture| {
        let again = rewritten(&fixture)?;
        assert_eq!(again, fixture.raw, "{}", fixture.record);
        Some(fixture.record)
    });
    assert_eq!(rewritten.count(), 10);
}

#[test]
fn this_release_reads_every_fixture() {
    let fixtures = fixtures();
    for fixture in &fixtures {
        let Fixture { record, version, raw } = fixture;
        assert_eq!(raw.get_i64("schema_version").unwrap(), *version, "{record}");
        assert!(*version <= NEWEST_VERSION, "{record} v{version}");
        read(fixture).unwrap_or_else(|error| panic!("{record} v{version}: {error:?}"));
    }
    assert!(fixtures.iter().any(|fixture| fixture.version == NEWEST_VERSION));
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
