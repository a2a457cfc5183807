//! Digests with salts, as a later release stores them (decision 0048).

use bson::spec::BinarySubtype;
use bson::{Binary, Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use persistence::mongo::Interruption;
use persistence::{Forks, MessageRange, Messages, Outcome, StoreError, Turns};
use records::json::salted;
use records::{
    ChatId, EventId, MessageBody, MessageEdit, NewFork, NewMessage, NewTurn, StackFrame, StackId,
    Step, StepKind, StepStatus, TurnId, TurnMessage, TurnOutcome,
};

use super::database::Database;
use super::faults::{chat, scope};

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

/// Counts the messages of a collection that have a salt.
async fn salted_messages(database: &Database, name: &str) -> usize {
    let has_salt = |item: &Bson| item.as_document().is_some_and(|it| it.contains_key("salt"));
    let count = |document: &Document| match document.get("messages") {
        Some(Bson::Array(messages)) => messages.iter().filter(|it| has_salt(it)).count(),
        _ => usize::from(document.get("message").is_some_and(has_salt)),
    };
    all(database, name).await.iter().map(count).sum()
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
    let database = Database::create_unsealed().await;
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
    let database = Database::create().await;
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
