//! The check of the data: it finds nothing in what the store writes, and every defect that is planted.

use std::collections::BTreeSet;

use bson::{Bson, Document, RawDocumentBuf, doc};
use persistence::mongo::{DataCheck, DataFault, FaultKind, Interruption};
use persistence::{Forks, Messages, Purges};
use records::{Actor, AppId, ChatId, MessageEdit, NewFork};

use super::database::Database;
use super::faults::{chat, message, numbered, scope};
use super::purges::plant;

/// Returns what a check finds, and how many messages it has read.
async fn checked(database: &Database, app_id: Option<&AppId>) -> (Vec<DataFault>, u64) {
    let (mut faults, mut read) = (Vec::new(), 0);
    let mut tell = |check: DataCheck<'_>| match check {
        DataCheck::Read { messages, .. } => read += messages,
        DataCheck::Fault(fault) => faults.push(fault.clone()),
    };
    database.check_chats(app_id, &mut tell).await.unwrap();
    (faults, read)
}

/// A chat with every kind of record, and forks of it with edits of shared messages.
async fn fill(database: &Database) -> (ChatId, ChatId) {
    let source = plant(database, "token", "ids").await;
    let fork = database.fork_chat(&scope(), &source, NewFork::default()).await.unwrap().chat_id;
    database.append(&scope(), &fork, numbered("of_fork", 70)).await.unwrap();
    database.seal(&scope().app_id, &fork, Interruption::Never).await.unwrap();
    let second = database.fork_chat(&scope(), &fork, NewFork::default()).await.unwrap().chat_id;
    database.append(&scope(), &second, message(Some("second"))).await.unwrap();
    for (chat_id, sequence) in [(&source, 5), (&fork, 6), (&second, 60), (&second, 7)] {
        let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
        database.update_message(&scope(), chat_id, sequence, edit).await.unwrap();
    }
    database.delete_message(&scope(), &fork, 8).await.unwrap();
    database.finish_tasks().await;
    (source, fork)
}

#[tokio::test]
async fn what_the_store_writes_has_no_faults() {
    let database = Database::create_unsealed().await;
    fill(&database).await;
    let purged = chat(&database).await;
    database.append(&scope(), &purged, numbered("purged", 80)).await.unwrap();
    database.seal(&scope().app_id, &purged, Interruption::AfterSegment).await.unwrap();
    let (faults, read) = checked(&database, None).await;
    assert_eq!(faults, []);
    assert!(read > 200, "{read}");
    database.purge_chat(&Actor::command_line(), &scope(), &purged, None).await.unwrap();
    assert_eq!(checked(&database, None).await.0, []);
}

#[tokio::test]
async fn more_chats_than_fit_into_a_page_are_all_read() {
    let database = Database::create_unsealed().await;
    for _ in 0..205 {
        let chat_id = chat(&database).await;
        database.append(&scope(), &chat_id, message(None)).await.unwrap();
    }
    assert_eq!(checked(&database, None).await, (Vec::new(), 205));
    let other = AppId::parse("other_app").unwrap();
    assert_eq!(checked(&database, Some(&other)).await, (Vec::new(), 0));
}

/// A change of one document, and what the check has to find.
struct Plant {
    kind: FaultKind,
    collection: &'static str,
    /// The documents among which the first one is changed.
    filter: Document,
    /// `None` removes the document.
    update: Option<Document>,
}

fn plants(source: &ChatId, fork: &ChatId) -> Vec<Plant> {
    let of = |chat_id: &ChatId| doc! { "_id": chat_id.as_str() };
    let below = |chat_id: &ChatId| doc! { "_id.chat_id": chat_id.as_str() };
    let set = |fields: Document| Some(doc! { "$set": fields });
    let increment = |fields: Document| Some(doc! { "$inc": fields });
    let (sessions, segments) = ("chat_sessions", "chat_segments");
    let plant = |kind, collection, filter, update| Plant { kind, collection, filter, update };
    vec![
        plant(FaultKind::Unreadable, segments, below(source), set(doc! { "messages.0.role": 5 })),
        plant(FaultKind::Unreadable, sessions, of(source), set(doc! { "status": "x" })),
        plant(FaultKind::Unreadable, "provider_calls", below(source), set(doc! { "model": 5 })),
        plant(FaultKind::Unreadable, "tool_runs", below(source), set(doc! { "is_success": 5 })),
        plant(FaultKind::Orphan, sessions, of(fork), None),
        plant(FaultKind::OtherApp, segments, below(source), set(doc! { "app_id": "other" })),
        plant(FaultKind::OtherApp, "resume_points", below(source), set(doc! { "app_id": "other" })),
        plant(
            FaultKind::Counters,
            sessions,
            of(source),
            increment(doc! { "last_sequence": 1_i64 }),
        ),
        plant(FaultKind::Counters, sessions, of(source), increment(doc! { "tail_bytes": 1_i64 })),
        plant(FaultKind::Segments, segments, below(source), None),
        plant(FaultKind::Segments, segments, below(fork), None),
        plant(FaultKind::Segments, segments, below(source), increment(doc! { "count": 1_i64 })),
        plant(
            FaultKind::Segments,
            segments,
            below(source),
            Some(doc! { "$pop": { "messages": 1 } }),
        ),
        plant(
            FaultKind::DoubleEventId,
            sessions,
            of(source),
            set(doc! { "messages.0.event_id": "ids-1" }),
        ),
        plant(FaultKind::Lineage, segments, below(source), None),
        plant(FaultKind::Lineage, sessions, of(fork), set(doc! { "bases.0.chat_id": "chat_gone" })),
        plant(FaultKind::Overlay, sessions, of(source), set(doc! { "shared_below": 3_i64 })),
        plant(FaultKind::Blob, "chat_blobs", doc! { "_id.kind": "artifact" }, None),
        plant(FaultKind::Blob, sessions, of(source), set(doc! { "context_blob": "blob_gone" })),
        plant(FaultKind::InputRequest, sessions, of(source), set(doc! { "pending_inputs": [] })),
        plant(FaultKind::InputRequest, "input_requests", doc! { "state": "pending" }, None),
        plant(
            FaultKind::InputRequest,
            "input_requests",
            doc! { "state": "answered" },
            increment(doc! { "answer.sequence": 1_i64 }),
        ),
        plant(FaultKind::Turns, "turns_without_messages", below(source), None),
        plant(FaultKind::Turns, "resume_points", below(source), set(doc! { "turn": 99_i64 })),
        plant(FaultKind::Derived, sessions, of(source), set(doc! { "title_key": "other" })),
        plant(FaultKind::Derived, sessions, of(source), set(doc! { "title_trigrams": ["abc"] })),
        plant(
            FaultKind::Derived,
            sessions,
            of(source),
            set(doc! { "active_minute": Bson::DateTime(bson::DateTime::from_millis(0)) }),
        ),
    ]
}

#[tokio::test]
async fn every_planted_defect_is_found() {
    let database = Database::create_unsealed().await;
    let (source, fork) = fill(&database).await;
    assert_eq!(checked(&database, None).await.0, []);
    let mut kinds = BTreeSet::new();
    for (number, Plant { kind, collection, filter, update }) in
        plants(&source, &fork).into_iter().enumerate()
    {
        let collection = database.raw.collection::<RawDocumentBuf>(collection);
        let sound =
            collection.find_one(filter).await.unwrap().unwrap_or_else(|| panic!("{number}"));
        let id = sound.get("_id").unwrap().unwrap();
        let id = doc! { "_id": Bson::try_from(id).unwrap() };
        match update {
            Some(update) => _ = collection.update_one(id.clone(), update).await.unwrap(),
            None => _ = collection.delete_one(id.clone()).await.unwrap(),
        }
        let (faults, _) = checked(&database, None).await;
        assert!(faults.iter().any(|fault| fault.kind == kind), "{number} {kind:?}: {faults:?}");
        collection.replace_one(id, sound).upsert(true).await.unwrap();
        assert_eq!(checked(&database, None).await.0, [], "{number}");
        kinds.insert(kind);
    }
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), FaultKind::ALL.to_vec());
}
