//! Digests with salts (decision 0048).

use std::collections::BTreeSet;

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{Forks, MessageRange, Messages, Outcome, StoreError, Turns};
use records::json::salted;
use records::{
    ChatId, EventId, MessageBody, MessageEdit, NewFork, NewMessage, NewTurn, StackFrame, StackId,
    Step, StepKind, StepStatus, TurnId, TurnMessage, TurnOutcome,
};

use super::database::Database;
use super::faults::{chat, scope};
use super::goldens::golden;

/// How many messages the chats have.
const MESSAGES: usize = 40;

fn event(number: usize, content: &str) -> NewMessage {
    let event_id = EventId::parse(format!("e{number}")).ok();
    NewMessage { event_id, ..MessageBody::new("user", None, content).into() }
}

fn binary(bytes: [u8; 16]) -> Bson {
    Binary { subtype: BinarySubtype::Generic, bytes: bytes.to_vec() }.into()
}

/// Gives every digest in a document a salt.
fn salt(document: &mut Document) {
    if let Ok(digest) = document.get_binary_generic("digest") {
        let salt = [7; 16];
        let digest = salted(&digest.clone().try_into().unwrap(), &salt);
        document.insert("salt", binary(salt));
        document.insert("digest", binary(digest));
    }
    for (_, value) in document.iter_mut() {
        match value {
            Bson::Document(inner) => salt(inner),
            Bson::Array(items) => {
                items.iter_mut().filter_map(Bson::as_document_mut).for_each(salt);
            }
            _ => {}
        }
    }
}

/// The collections whose digests are those of texts that people wrote.
const SALTED: [&str; 5] = [
    "chat_sessions",
    "chat_segments",
    "message_versions",
    "turns_without_messages",
    "resume_points",
];

async fn salt_everything(database: &Database) {
    for name in SALTED {
        let collection = database.raw.collection::<RawDocumentBuf>(name);
        for mut document in all(database, name).await {
            salt(&mut document);
            let id = doc! { "_id": document.get("_id").unwrap() };
            let document = RawDocumentBuf::try_from(&document).unwrap();
            collection.replace_one(id, document).await.unwrap();
        }
    }
}

async fn all(database: &Database, name: &str) -> Vec<Document> {
    let collection = database.raw.collection::<RawDocumentBuf>(name);
    let found: Vec<_> = collection.find(doc! {}).await.unwrap().try_collect().await.unwrap();
    found.iter().map(|raw| Document::try_from(&**raw).unwrap()).collect()
}

/// Creates a database at the format before salts.
async fn without_salts() -> Database {
    let mut format = golden("store_format", 1);
    format.insert("format", 3_i64);
    Database::create_older(&[("store_format", format)]).await
}

/// Counts the messages of a collection that have a salt.
async fn salted_messages(database: &Database, name: &str) -> usize {
    let has_salt = |item: &Bson| item.as_document().is_some_and(|it| it.contains_key("salt"));
    let count = |document: &Document| match document.get("messages") {
        Some(Bson::Array(messages)) => messages.iter().filter(|it| has_salt(it)).count(),
        _ => usize::from(document.get("message").is_some_and(has_salt)),
    };
    all(database, name).await.iter().map(count).sum()
}

/// Collects the salts of a document, and the digests without one.
fn salts(document: &Document, found: &mut Vec<Option<Vec<u8>>>) {
    if document.contains_key("digest") {
        found.push(document.get_binary_generic("salt").ok().cloned());
    }
    for (_, value) in document {
        match value {
            Bson::Document(inner) => salts(inner, found),
            Bson::Array(items) => {
                items.iter().filter_map(Bson::as_document).for_each(|item| salts(item, found));
            }
            _ => {}
        }
    }
}

/// Returns the salts of all documents, and the digests without one, after a check of the versions of the documents.
async fn stored_salts(database: &Database) -> Vec<Option<Vec<u8>>> {
    let mut all_salts = Vec::new();
    for name in SALTED {
        for document in all(database, name).await {
            let mut found = Vec::new();
            salts(&document, &mut found);
            let has_salt = found.iter().any(Option::is_some);
            let version = document.get_i64("schema_version").unwrap();
            assert_eq!(version >= 4, has_salt, "{name}: {document}");
            all_salts.extend(found);
        }
    }
    all_salts
}

/// Writes messages and turns to every place in which a salt may be.
async fn write_everywhere(database: &Database) -> ChatId {
    let chat_id = chat(database).await;
    for number in 0..MESSAGES {
        database.append(&scope(), &chat_id, vec![event(number, "yes")]).await.unwrap();
    }
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    // Straight into a segment.
    let many = (100..200).map(|number| event(number, "yes")).collect();
    database.append(&scope(), &chat_id, many).await.unwrap();
    for (id, texts, error) in [
        ("said", &["yes"][..], None),
        ("silent", &[], Some("broke")),
        ("both", &["yes"], Some("broke")),
    ] {
        database.append_turn(&scope(), &chat_id, turn(id, texts, error)).await.unwrap();
    }
    chat_id
}

#[tokio::test]
async fn every_digest_of_a_text_gets_a_salt_of_its_own() {
    let database = Database::create_unsealed().await;
    let chat_id = write_everywhere(&database).await;
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    database.update_message(&scope(), &fork, 1, edit).await.unwrap();
    database.finish_tasks().await;
    let found = stored_salts(&database).await;
    assert!(found.iter().all(Option::is_some), "{found:?}");
    let distinct: BTreeSet<_> = found.iter().flatten().collect();
    // One for each message, and one for each of the three turns.
    assert_eq!(distinct.len(), MESSAGES + 100 + 2 + 3);
    assert_recognised(&database, &chat_id).await;
    for id in ["said", "silent"] {
        let again =
            if id == "said" { turn(id, &["yes"], None) } else { turn(id, &[], Some("broke")) };
        let again = database.append_turn(&scope(), &chat_id, again).await.unwrap();
        assert_eq!(again.outcome, Outcome::Duplicate, "{id}");
    }
}

#[tokio::test]
async fn before_the_upgrade_is_finished_digests_have_no_salts() {
    let database = without_salts().await;
    let older = &database.store;
    let chat_id = chat(&database).await;
    older.append(&scope(), &chat_id, vec![event(0, "yes")]).await.unwrap();
    older.append_turn(&scope(), &chat_id, turn("silent", &[], Some("broke"))).await.unwrap();
    let found = stored_salts(&database).await;
    assert!(!found.is_empty() && found.iter().all(Option::is_none), "{found:?}");
    older.finish_upgrade().await.unwrap();
    let newer = MongoStore::connect(&database.options).await.unwrap();
    newer.append(&scope(), &chat_id, vec![event(1, "yes")]).await.unwrap();
    let sessions = all(&database, "chat_sessions").await;
    assert_eq!(sessions[0].get_i64("schema_version").unwrap(), 4);
    for number in [0, 1] {
        let again = newer.append(&scope(), &chat_id, vec![event(number, "yes")]).await.unwrap();
        assert_eq!(again.messages[0].outcome, Outcome::Duplicate);
    }
}

/// What a salt costs: 27 bytes for each message.
#[tokio::test]
async fn a_salt_takes_27_bytes() {
    let database = Database::create_unsealed().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, vec![event(0, "yes")]).await.unwrap();
    let session = all(&database, "chat_sessions").await.remove(0);
    let mut message = session.get_array("messages").unwrap()[0].as_document().unwrap().clone();
    let size = |message: &Document| RawDocumentBuf::try_from(message).unwrap().as_bytes().len();
    let with = size(&message);
    message.remove("salt");
    assert_eq!(with - size(&message), 27);
}

async fn assert_recognised(database: &Database, chat_id: &ChatId) {
    for number in [0, 20, MESSAGES - 1] {
        let again = database.append(&scope(), chat_id, vec![event(number, "yes")]).await.unwrap();
        assert_eq!(again.messages[0].outcome, Outcome::Duplicate);
        let other = database.append(&scope(), chat_id, vec![event(number, "no")]).await;
        assert!(matches!(other, Err(StoreError::EventConflict { .. })), "{other:?}");
    }
}

#[tokio::test]
async fn messages_with_salts_are_recognised_and_keep_them() {
    let database = without_salts().await;
    let chat_id = chat(&database).await;
    for half in [0..30, 30..MESSAGES] {
        let messages = half.map(|number| event(number, "yes")).collect();
        database.append(&scope(), &chat_id, messages).await.unwrap();
        if all(&database, "chat_segments").await.is_empty() {
            database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
        }
    }
    assert_recognised(&database, &chat_id).await;
    salt_everything(&database).await;
    assert_recognised(&database, &chat_id).await;
    let edit =
        |content: &str| MessageEdit { content: Some(content.into()), ..MessageEdit::default() };
    for sequence in [0, MESSAGES as u64 - 1] {
        database.update_message(&scope(), &chat_id, sequence, edit("edited")).await.unwrap();
    }
    let stored = async || {
        let sealed = salted_messages(&database, "chat_segments").await;
        sealed + salted_messages(&database, "chat_sessions").await
    };
    assert_eq!(stored().await, MESSAGES);
    assert_recognised(&database, &chat_id).await;
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    database.update_message(&scope(), &fork, 1, edit("overlay")).await.unwrap();
    assert_eq!(salted_messages(&database, "message_versions").await, 1);
    database.seal(&scope().app_id, &fork, Interruption::Never).await.unwrap();
    for chat_id in [&chat_id, &fork] {
        assert_recognised(&database, chat_id).await;
        let read = database.messages(&scope(), chat_id, MessageRange::all()).await.unwrap();
        assert_eq!(read.messages.len(), MESSAGES);
    }
}

fn turn(id: &str, texts: &[&str], error: Option<&str>) -> NewTurn {
    let message =
        |text: &&str| TurnMessage { body: MessageBody::new("user", None, *text), author: None };
    let step = |error: &str| Step {
        kind: StepKind::Llm,
        status: StepStatus::Failed,
        assistant_id: None,
        frame: StackFrame { stack_id: StackId::parse("s").unwrap(), parent_id: None, depth: 0 },
        input: None,
        output: None,
        space_snapshot: records::JsonObject::new(),
        error: Some(error.to_owned()),
        metadata: records::JsonObject::new(),
    };
    NewTurn {
        request_id: TurnId::parse(id).unwrap(),
        outcome: if error.is_some() { TurnOutcome::Failed } else { TurnOutcome::Completed },
        messages: texts.iter().map(message).collect(),
        steps: error.into_iter().map(step).collect(),
        connector: None,
        mode: None,
    }
}

#[tokio::test]
async fn turns_with_salts_are_recognised() {
    let database = without_salts().await;
    let chat_id = chat(&database).await;
    let write = async |turn: NewTurn| database.append_turn(&scope(), &chat_id, turn).await;
    write(turn("said", &["yes"], None)).await.unwrap();
    write(turn("silent", &[], Some("broke"))).await.unwrap();
    for recent in [true, false] {
        if !recent {
            // The other places that tell of a turn are asked.
            for n in 0..20 {
                write(turn(&format!("later{n}"), &["later"], None)).await.unwrap();
            }
        }
        for id in ["said", "silent"] {
            let (texts, error): (&[_], _) =
                if id == "said" { (&["yes"], None) } else { (&[], Some("broke")) };
            if recent && id == "said" {
                salt_everything(&database).await;
            }
            let again = write(turn(id, texts, error)).await.unwrap();
            assert_eq!(again.outcome, Outcome::Duplicate, "{id}");
            let other = write(turn(id, &["other"], error)).await;
            assert!(matches!(other, Err(StoreError::TurnConflict { .. })), "{id}: {other:?}");
        }
    }
}
