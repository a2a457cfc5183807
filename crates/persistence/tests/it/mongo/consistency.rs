//! The check of the data: it finds nothing in what the store writes, and every defect that is planted.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Bson, Document, RawDocumentBuf, doc};
use persistence::mongo::{DataCheck, DataFault, FaultKind, Interruption, MongoStore};
use persistence::{AppDocuments, AppendCondition, Forks, Messages, Purges, PutCondition, Streams};
use records::{
    Actor, AppId, ChatId, DocumentPath, MessageEdit, NewDocument, NewFork, NewStream,
    StatedBinding, StreamFormat, StreamHeader,
};

use super::database::Database;
use super::faults::{chat, message, numbered, scope};
use super::purges::plant;

/// Returns what a check finds, and how many messages it has read.
async fn checked(database: &Database, app_id: Option<&AppId>) -> (Vec<DataFault>, u64) {
    let (mut faults, mut read) = (Vec::new(), 0);
    let mut tell = |check: DataCheck<'_>| match check {
        DataCheck::Read { messages, .. } => read += messages,
        DataCheck::ReadDocuments { .. } | DataCheck::Verified { .. } => {}
        DataCheck::Fault(fault) => faults.push(fault.clone()),
    };
    database.check_chats(app_id, &mut tell).await.unwrap();
    database.check_documents(app_id, &mut tell).await.unwrap();
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
    for (name, chat_id) in [("of_chat", Some(&source)), ("of_nobody", None)] {
        put(database, &format!("{name}/small"), 100, chat_id).await;
        put(database, &format!("{name}/large"), 600_000, chat_id).await;
        for _ in 0..8 {
            append(database, &format!("{name}/log"), 30_000, chat_id).await;
        }
    }
    let header = StreamHeader { format: StreamFormat::Text, agent: None, request_id: None };
    let new = NewStream { stream_id: None, header };
    database.start_stream(&scope(), &source, new).await.unwrap();
    database.finish_tasks().await;
    (source, fork)
}

fn content(bytes: usize, chat_id: Option<&ChatId>) -> NewDocument {
    NewDocument {
        binding: StatedBinding { chat_id: chat_id.cloned(), ..StatedBinding::default() },
        content_type: "text/plain".to_owned(),
        content: (0..bytes).map(|at| u8::try_from(at % 251).unwrap()).collect(),
        lifetime: None,
    }
}

fn path(text: &str) -> DocumentPath {
    DocumentPath::parse(text).unwrap()
}

async fn put(database: &MongoStore, at: &str, bytes: usize, chat_id: Option<&ChatId>) {
    let new = content(bytes, chat_id);
    database.put_document(&scope(), &path(at), new, PutCondition::default()).await.unwrap();
}

async fn append(database: &MongoStore, at: &str, bytes: usize, chat_id: Option<&ChatId>) {
    let new = content(bytes, chat_id);
    let always = AppendCondition::default();
    database.append_document(&scope(), &path(at), new, always).await.unwrap();
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
    let (documents, parts) = ("documents", "document_parts");
    let large = |name: &str| doc! { "_id.path": format!("{name}/large") };
    let small = doc! { "_id.path": "of_chat/small" };
    let put_part = doc! { "_id.offset": 256_i64 << 10 };
    let bytes = |count: usize| bson::Binary {
        subtype: bson::spec::BinarySubtype::Generic,
        bytes: vec![0; count],
    };
    let begun = doc! { "$unset": { "app_id": "" }, "$set": { "importing": { "app_id": "a" } } };
    let plant = |kind, collection, filter, update| Plant { kind, collection, filter, update };
    vec![
        plant(FaultKind::Unreadable, segments, below(source), set(doc! { "messages.0.role": 5 })),
        plant(FaultKind::Unreadable, sessions, of(source), set(doc! { "status": "x" })),
        plant(FaultKind::Unreadable, "provider_calls", below(source), set(doc! { "model": 5 })),
        plant(FaultKind::Unreadable, "tool_runs", below(source), set(doc! { "is_success": 5 })),
        plant(FaultKind::Orphan, sessions, of(fork), None),
        plant(FaultKind::UnfinishedImport, sessions, of(fork), Some(begun)),
        plant(FaultKind::Orphan, "streams", below(source), None),
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
        plant(FaultKind::Unreadable, documents, doc! {}, set(doc! { "visibility": "x" })),
        plant(FaultKind::Unreadable, parts, doc! {}, set(doc! { "content": 5 })),
        plant(FaultKind::Orphan, documents, large("of_nobody"), None),
        plant(FaultKind::Orphan, documents, large("of_chat"), set(doc! { "chat_id": "chat_gone" })),
        plant(FaultKind::Content, parts, doc! {}, None),
        plant(FaultKind::Content, parts, doc! { "_id.offset": 0_i64 }, None),
        plant(FaultKind::Content, parts, doc! {}, set(doc! { "content": bytes(5) })),
        plant(FaultKind::Content, parts, put_part, set(doc! { "content": bytes(256 << 10) })),
        plant(
            FaultKind::Content,
            parts,
            doc! { "chat_id": Bson::Null },
            set(doc! { "chat_id": "other" }),
        ),
        plant(FaultKind::Content, documents, large("of_chat"), increment(doc! { "size": 1_i64 })),
        plant(
            FaultKind::Content,
            documents,
            large("of_chat"),
            increment(doc! { "size": 9_i64, "tail_from": 9_i64 }),
        ),
        plant(FaultKind::Content, documents, small, set(doc! { "tail": [bytes(100)] })),
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
    // What is not what was signed has tests of its own.
    kinds.insert(FaultKind::Integrity);
    assert_eq!(kinds.into_iter().collect::<Vec<_>>(), FaultKind::ALL.to_vec());
}

#[tokio::test]
async fn nothing_is_found_beside_writers_of_documents() {
    let database = Database::create_unsealed().await;
    let chat_id = chat(&database).await;
    let is_done = AtomicBool::new(false);
    let (store, of_chat) = (&*database, Some(&chat_id));
    let write = |writer: usize| async move {
        for round in 0..40 {
            let (log, name) = (format!("w{writer}/log"), format!("w{writer}/{}", round % 3));
            put(store, &name, [200, 70_000, 600_000][round % 3], of_chat).await;
            put(store, &name, [70_000, 300_000, 10][round % 3] + round, of_chat).await;
            append(store, &log, 40_000, None).await;
            if round % 5 == 0 {
                store.delete_document(&scope(), &path(&name)).await.unwrap();
                store.delete_document(&scope(), &path(&log)).await.unwrap();
            }
        }
    };
    let check = async || {
        let mut checks = 0;
        while !is_done.load(Ordering::Relaxed) {
            assert_eq!(checked(&database, None).await.0, []);
            checks += 1;
        }
        checks
    };
    let write_all = async {
        futures::future::join_all((0..4).map(write)).await;
        is_done.store(true, Ordering::Relaxed);
    };
    let ((), checks) = tokio::join!(write_all, check());
    assert!(checks > 1, "{checks}");
    database.purge_chat(&Actor::command_line(), &scope(), &chat_id, None).await.unwrap();
    assert_eq!(checked(&database, None).await.0, []);
}

#[tokio::test]
async fn documents_of_another_app_are_not_checked() {
    let database = Database::create_unsealed().await;
    put(&database, "large", 600_000, None).await;
    database.raw.collection::<RawDocumentBuf>("document_parts").delete_one(doc! {}).await.unwrap();
    let other = AppId::parse("other_app").unwrap();
    assert_eq!(checked(&database, Some(&other)).await.0, []);
    assert_eq!(checked(&database, Some(&scope().app_id)).await.0.len(), 1);
}
