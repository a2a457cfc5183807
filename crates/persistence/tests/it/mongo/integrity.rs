//! What is changed in the database without a service is found, and nothing that a service does.

use std::collections::BTreeSet;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use persistence::mongo::{DataCheck, Interruption};
use persistence::{
    Billing, Calls, Checkpoint, Exchanges, Forks, Integrity, IntegrityKeys, Messages, Purges,
    Verdict, sign_all,
};
use records::{
    Actor, Author, CallId, ChatId, EventId, MessageBody, MessageEdit, NewFork, NewMessage, UserId,
};

use serde_json::json;

use super::database::{Database, new_key};
use super::faults::{chat, message, numbered, scope};

/// Creates a database in which only the test seals.
async fn signing() -> Database {
    Database::create_unsealed().await
}

/// What a verification finds: the faults, and how many messages are signed and unsigned.
#[derive(Debug, Default, PartialEq)]
struct Found {
    faults: Vec<String>,
    signed: u64,
    unsigned: u64,
}

async fn verified(database: &Database, checkpoints: &[String]) -> Found {
    let mut found = Found::default();
    let mut tell = |check: DataCheck<'_>| match check {
        DataCheck::Verified { signed, unsigned } => {
            found.signed += signed;
            found.unsigned += unsigned;
        }
        DataCheck::Fault(fault) => found.faults.push(format!("{}: {}", fault.record, fault.detail)),
        _ => {}
    };
    database.verify_integrity(None, checkpoints, &mut tell).await.unwrap();
    found
}

async fn sign(database: &Database) -> u64 {
    let pass = sign_all(&**database, None).await.unwrap();
    assert_eq!(pass.broken, 0);
    pass.commitments
}

fn edited(text: &str) -> MessageEdit {
    MessageEdit { content: Some(text.into()), ..MessageEdit::default() }
}

async fn edit(database: &Database, chat_id: &ChatId, sequence: u64, text: &str) {
    database.update_message(&scope(), chat_id, sequence, edited(text)).await.unwrap();
}

async fn seal(database: &Database, chat_id: &ChatId) {
    database.seal(&scope().app_id, chat_id, Interruption::Never).await.unwrap();
}

/// A chat with sealed messages and a tail, and a fork of it. In each, messages are edited and deleted: before the first
/// checkpoint, and after it.
async fn fill(database: &Database) -> (ChatId, ChatId) {
    let source = chat(database).await;
    database.append(&scope(), &source, numbered("ids", 300)).await.unwrap();
    seal(database, &source).await;
    edit(database, &source, 3, "before").await;
    let fork = database.fork_chat(&scope(), &source, NewFork::default()).await.unwrap().chat_id;
    database.append(&scope(), &fork, numbered("of_fork", 20)).await.unwrap();
    edit(database, &fork, 4, "in the fork").await;
    sign(database).await;
    for chat_id in [&source, &fork] {
        for sequence in [3, 5, 298] {
            edit(database, chat_id, sequence, "after").await;
        }
        database.delete_message(&scope(), chat_id, 6).await.unwrap();
        database.delete_message(&scope(), chat_id, 299).await.unwrap();
    }
    (source, fork)
}

#[tokio::test]
async fn nothing_is_found_in_what_services_do() {
    let database = signing().await;
    let (source, fork) = fill(&database).await;
    let before = verified(&database, &[]).await;
    assert_eq!(before.faults, [""; 0]);
    // Five changes in each chat are not signed yet.
    assert_eq!((before.signed, before.unsigned), (620 - 10, 10));
    assert_eq!(sign(&database).await, 10);
    assert_eq!(sign(&database).await, 0);
    let after = Found { faults: Vec::new(), signed: 620, unsigned: 0 };
    assert_eq!(verified(&database, &[]).await, after);

    seal(&database, &source).await;
    seal(&database, &fork).await;
    let second = database.fork_chat(&scope(), &fork, NewFork::default()).await.unwrap().chat_id;
    for n in 0..70 {
        // More than the session remembers.
        edit(&database, &second, n + 10, &format!("edit {n}")).await;
    }
    sign(&database).await;
    for n in 0..70 {
        edit(&database, &second, n + 10, &format!("another edit {n}")).await;
    }
    assert_eq!(sign(&database).await, 70);
    assert_eq!(verified(&database, &[]).await.faults, [""; 0]);

    // A text that no chat shows any more goes from a shared segment.
    for chat_id in [&source, &fork, &second] {
        database.delete_message(&scope(), chat_id, 7).await.unwrap();
    }
    assert_eq!(verified(&database, &[]).await.faults, [""; 0]);
    sign(&database).await;
    database.purge_chat(&Actor::command_line(), &scope(), &source, None).await.unwrap();
    assert_eq!(verified(&database, &[]).await.faults, [""; 0]);
    let chains = database.all("integrity_chains").await;
    let chains: Vec<&str> = chains.iter().map(|raw| raw.get_str("_id").unwrap()).collect();
    let mut kept = [fork.as_str(), second.as_str()];
    kept.sort_unstable();
    assert_eq!(chains, kept);
}

#[tokio::test]
async fn a_deleted_call_is_no_change_of_its_messages() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    let mut body = MessageBody::new("assistant", None, "Said");
    body.extra.insert(MessageBody::PRODUCED_BY.to_owned(), "call_1".into());
    let calls = vec![super::calls::call("call_1")];
    database.record_calls(&scope(), &chat_id, calls, Billing::Free).await.unwrap();
    database
        .append(&scope(), &chat_id, vec![NewMessage { event_id: None, author: None, body }])
        .await
        .unwrap();
    sign(&database).await;
    database.delete_call(&scope(), &chat_id, &CallId::parse("call_1").unwrap()).await.unwrap();
    let found = Found { faults: Vec::new(), signed: 1, unsigned: 0 };
    assert_eq!(verified(&database, &[]).await, found);
    assert_eq!(sign(&database).await, 0);
}

#[tokio::test]
async fn an_erasure_forgets_salts_and_the_chains_still_verify() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    let person = UserId::parse("carol").unwrap();
    let author = Author { user_id: person.clone(), display_name: None };
    for n in 0..300 {
        let by = (n % 10 == 0).then(|| author.clone());
        let body = MessageBody::new("user", None, format!("text {n}"));
        let event_id = EventId::parse(format!("id_{n}")).ok();
        let new = NewMessage { event_id, author: by, body };
        database.append(&scope(), &chat_id, vec![new]).await.unwrap();
    }
    seal(&database, &chat_id).await;
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    sign(&database).await;
    let with_salts = salts(&database).await;
    super::erasures::erase(&database, &person, 10).await;
    let without = salts(&database).await;
    for chat_id in [&chat_id, &fork] {
        let gone: BTreeSet<u64> = with_salts
            .difference(&without)
            .filter(|(of, ..)| of == chat_id.as_str())
            .map(|(_, sequence, _)| *sequence)
            .collect();
        assert_eq!(gone, (0..300).filter(|n| n % 10 == 0).collect(), "{chat_id}");
    }
    assert_eq!(verified(&database, &[]).await.faults, [""; 0]);
    assert_eq!(sign(&database).await, 60);
    let found = Found { faults: Vec::new(), signed: 600, unsigned: 0 };
    assert_eq!(verified(&database, &[]).await, found);
}

/// Returns the chat, the message and the salt of each commitment, or what is in its place.
async fn salts(database: &Database) -> BTreeSet<(String, u64, [u8; 16])> {
    let mut found = BTreeSet::new();
    for (collection, field) in COMMITMENTS {
        for raw in database.all(collection).await {
            let of = raw.get_str("_id").or_else(|_| raw.get_document("_id")?.get_str("chat_id"));
            let of = of.unwrap().to_owned();
            for entry in raw.get_binary(field).unwrap().bytes.chunks(60) {
                let sequence = u64::from_be_bytes(entry[..8].try_into().unwrap());
                found.insert((of.clone(), sequence, entry[12..28].try_into().unwrap()));
            }
        }
    }
    found
}

/// The collections and fields that hold commitments.
const COMMITMENTS: [(&str, &str); 2] =
    [("integrity_chains", "open"), ("integrity_blocks", "commitments")];

/// Changes documents of the database, without a key.
struct Tamper<'a> {
    database: &'a Database,
    source: &'a ChatId,
}

impl Tamper<'_> {
    async fn update(&self, collection: &str, filter: Document, update: Document) {
        let collection = self.database.raw.collection::<RawDocumentBuf>(collection);
        let updated = collection.update_one(filter, update).await.unwrap();
        assert_eq!(updated.modified_count, 1);
    }

    async fn one(&self, collection: &str, filter: Document) -> Document {
        let collection = self.database.raw.collection::<RawDocumentBuf>(collection);
        let found = collection.find_one(filter).await.unwrap().unwrap();
        Document::try_from(found).unwrap()
    }

    fn session(&self) -> Document {
        doc! { "_id": self.source.as_str() }
    }

    fn segment(&self) -> Document {
        doc! { "_id.chat_id": self.source.as_str(), "_id.first_sequence": 0_i64 }
    }

    async fn messages(&self) -> Vec<Bson> {
        let session = self.one("chat_sessions", self.session()).await;
        session.get_array("messages").unwrap().clone()
    }

    async fn set_messages(&self, messages: Vec<Bson>) {
        let last = 280 + i64::try_from(messages.len()).unwrap();
        let set = doc! { "$set": { "messages": messages, "last_sequence": last } };
        self.update("chat_sessions", self.session(), set).await;
    }
}

/// The ways to change a database. Each is found, and each is found again after the next pass: nothing signs it.
const TAMPERINGS: [&str; 24] = [
    "the text of a message in the tail",
    "the text of a sealed message",
    "the text of a version",
    "the role of a message",
    "the name of a message",
    "the metadata of a message",
    "the author of a message",
    "the time of a message",
    "a deletion",
    "a deletion that looks like one by the service",
    "an edit that looks like one by the service",
    "an older edit that a service has made",
    "the original text of an edited message",
    "a message that a service has edited in another chat",
    "two messages that are swapped",
    "two messages that are swapped, and whose salts are removed",
    "a message that is removed",
    "a message that is put in between",
    "messages that are cut off at the end",
    "a message that is added at the end",
    "a message that is added at the end with a tag of another one",
    "a message of another chat that is added at the end",
    "the checkpoint of another chat",
    "a commitment that fits another text",
];

/// Returns the collection, the field and the value of a tampering that changes one field.
fn changed_field(what: &str) -> Option<(&'static str, &'static str, Bson)> {
    let (sessions, segments) = ("chat_sessions", "chat_segments");
    Some(match what {
        "the text of a message in the tail" => (sessions, "messages.2.content", "forged".into()),
        "the text of a sealed message" => (segments, "messages.9.content", "forged".into()),
        "the role of a message" => (segments, "messages.9.role", "system".into()),
        "the name of a message" => (segments, "messages.9.name", "boss".into()),
        "the metadata of a message" => {
            (segments, "messages.9.metadata", doc! { "approved": true }.into())
        }
        "the author of a message" => {
            (sessions, "messages.2.author", doc! { "user_id": "mallory" }.into())
        }
        "the time of a message" => {
            (sessions, "messages.2.created_at", bson::DateTime::from_millis(0).into())
        }
        _ => return None,
    })
}

/// Returns an update that counts as an edit of message 282, as a service makes it.
fn looks_edited(fields: Document) -> Document {
    let now = bson::DateTime::now();
    let mut all = doc! { "messages.2.edited_at": now, "edited_at": now };
    all.extend(fields);
    doc! { "$set": all, "$inc": { "revision": 1_i64 }, "$push": { "recent_edits": 282_i64 } }
}

async fn tamper(t: &Tamper<'_>, other: &ChatId, old: &[Bson], what: &str) {
    let set = |field: &str, value: Bson| doc! { "$set": { field: value } };
    let sessions = "chat_sessions";
    if let Some((collection, field, value)) = changed_field(what) {
        let one = if collection == sessions { t.session() } else { t.segment() };
        return t.update(collection, one, set(field, value)).await;
    }
    match what {
        "the text of a version" => {
            let version = doc! { "_id.chat_id": other.as_str(), "_id.sequence": 4_i64 };
            t.update("message_versions", version, set("message.content", "forged".into())).await;
        }
        "a deletion" => {
            let now = bson::DateTime::now();
            let gone = doc! { "messages.2.deleted_at": now, "messages.2.content": Bson::Null };
            t.update(sessions, t.session(), doc! { "$set": gone }).await;
        }
        "a deletion that looks like one by the service" => {
            let now = bson::DateTime::now();
            let change = looks_edited(doc! {
                "messages.2.deleted_at": now, "messages.2.content": Bson::Null,
            });
            t.update(sessions, t.session(), change).await;
        }
        "an edit that looks like one by the service" => {
            let tag =
                bson::Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: vec![7; 16] };
            let change = looks_edited(doc! {
                "messages.2.content": "forged",
                "messages.2.change": { "number": 1_i64, "tag": tag },
            });
            t.update(sessions, t.session(), change).await;
        }
        "an older edit that a service has made" => {
            let mut messages = t.messages().await;
            messages[18].clone_from(&old[18]);
            t.set_messages(messages).await;
            let change =
                doc! { "$inc": { "revision": 1_i64 }, "$push": { "recent_edits": 298_i64 } };
            t.update(sessions, t.session(), change).await;
        }
        "the original text of an edited message" => {
            let change = doc! {
                "$set": { "messages.18.content": "text" },
                "$unset": { "messages.18.change": "", "messages.18.edited_at": "" },
            };
            t.update(sessions, t.session(), change).await;
        }
        "a message that a service has edited in another chat" => {
            let fork = t.one(sessions, doc! { "_id": other.as_str() }).await;
            let theirs = fork.get_array("messages").unwrap()[18].clone();
            let mut messages = t.messages().await;
            assert_ne!(messages[18], theirs);
            messages[18] = theirs;
            t.set_messages(messages).await;
        }
        "two messages that are swapped"
        | "two messages that are swapped, and whose salts are removed" => {
            if what.contains("salts") {
                remove_salts(t, &[282, 283]).await;
            }
            let mut messages = t.messages().await;
            messages.swap(2, 3);
            t.set_messages(messages).await;
        }
        "a message that is removed" => {
            let mut messages = t.messages().await;
            messages.remove(2);
            t.set_messages(messages).await;
        }
        "a message that is put in between" => {
            let mut messages = t.messages().await;
            messages.insert(2, messages[3].clone());
            t.set_messages(messages).await;
        }
        "messages that are cut off at the end" => {
            let mut messages = t.messages().await;
            messages.truncate(10);
            t.set_messages(messages).await;
        }
        "a message that is added at the end"
        | "a message that is added at the end with a tag of another one"
        | "a message of another chat that is added at the end" => {
            let mut messages = t.messages().await;
            messages.push(added(t, other, what, &messages[2]).await);
            t.set_messages(messages).await;
        }
        "the checkpoint of another chat" => {
            let theirs = t.one("integrity_chains", doc! { "_id": other.as_str() }).await;
            let signed = theirs.get_str("signed").unwrap().into();
            t.update("integrity_chains", t.session(), set("signed", signed)).await;
        }
        "a commitment that fits another text" => {
            change_commitments(t, |entries| entries[40] ^= 1).await;
        }
        _ => panic!("{what}"),
    }
}

/// Removes the salts of commitments, as a program does that has no key.
async fn remove_salts(t: &Tamper<'_>, sequences: &[u64]) {
    let remove = |entries: &mut [u8]| {
        for entry in entries.chunks_mut(60) {
            if sequences.contains(&u64::from_be_bytes(entry[..8].try_into().unwrap())) {
                entry[12..28].fill(0);
            }
        }
    };
    change_commitments(t, remove).await;
}

/// Changes stored commitments, wherever they are.
async fn change_commitments(t: &Tamper<'_>, change: impl Fn(&mut [u8])) {
    for (collection, field) in COMMITMENTS {
        for raw in t.database.all(collection).await {
            let before = raw.get_binary(field).unwrap().bytes;
            let mut bytes = before.to_vec();
            change(&mut bytes);
            if bytes != before {
                let subtype = bson::spec::BinarySubtype::Generic;
                let one = doc! { "_id": Bson::try_from(raw.get("_id").unwrap().unwrap()).unwrap() };
                let set = doc! { "$set": { field: bson::Binary { subtype, bytes } } };
                t.update(collection, one, set).await;
            }
        }
    }
}

/// Returns the message that a tampering adds.
async fn added(t: &Tamper<'_>, other: &ChatId, what: &str, like: &Bson) -> Bson {
    match what {
        "a message that is added at the end" => forged(like, true),
        "a message that is added at the end with a tag of another one" => forged(like, false),
        _ => {
            let fork = t.one("chat_sessions", doc! { "_id": other.as_str() }).await;
            fork.get_array("messages").unwrap()[19].clone()
        }
    }
}

/// Makes a message like another one, as a program with access to the database does.
fn forged(like: &Bson, drops_tag: bool) -> Bson {
    let mut message = like.as_document().unwrap().clone();
    assert!(message.contains_key("tag"), "{message}");
    message.insert("event_id", "forged");
    message.insert("content", "approved");
    if drops_tag {
        message.remove("tag");
    }
    message.into()
}

/// Copies the database, and returns what puts it back.
async fn copy(database: &Database) -> Vec<(String, Vec<RawDocumentBuf>)> {
    let mut all = Vec::new();
    for name in database.raw.list_collection_names().await.unwrap() {
        let documents = database.all(&name).await;
        all.push((name, documents));
    }
    all
}

async fn restore(database: &Database, copy: &[(String, Vec<RawDocumentBuf>)]) {
    for (name, documents) in copy {
        let collection = database.raw.collection::<RawDocumentBuf>(name);
        collection.delete_many(doc! {}).await.unwrap();
        if !documents.is_empty() {
            collection.insert_many(documents).await.unwrap();
        }
    }
}

#[tokio::test]
async fn what_is_changed_without_a_service_is_found_and_never_signed() {
    let database = signing().await;
    // With a tail of twenty.
    let source = chat(&database).await;
    database.append(&scope(), &source, numbered("ids", 284)).await.unwrap();
    seal(&database, &source).await;
    database.append(&scope(), &source, numbered("more", 16)).await.unwrap();
    let fork = database.fork_chat(&scope(), &source, NewFork::default()).await.unwrap().chat_id;
    for chat_id in [&source, &fork] {
        edit(&database, chat_id, 4, &format!("edited in {chat_id}")).await;
        edit(&database, chat_id, 298, &format!("first edit in {chat_id}")).await;
    }
    sign(&database).await;
    let t = Tamper { database: &database, source: &source };
    let old = t.messages().await;
    assert_eq!(old.len(), 20);
    for chat_id in [&source, &fork] {
        edit(&database, chat_id, 298, &format!("second edit in {chat_id}")).await;
    }
    sign(&database).await;
    let sound = copy(&database).await;
    for what in TAMPERINGS {
        tamper(&t, &fork, &old, what).await;
        let found = verified(&database, &[]).await.faults;
        assert!(!found.is_empty(), "{what} was not found");
        sign_all(&*database, None).await.unwrap();
        let found = verified(&database, &[]).await.faults;
        assert!(!found.is_empty(), "{what} was signed");
        restore(&database, &sound).await;
        assert_eq!(verified(&database, &[]).await.faults, [""; 0], "{what}");
    }
}

#[tokio::test]
async fn a_message_that_no_service_has_appended_is_found_before_the_first_checkpoint() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, numbered("ids", 3)).await.unwrap();
    let t = Tamper { database: &database, source: &chat_id };
    let mut messages = t.messages().await;
    messages.push(forged(&messages[2], true));
    let set = doc! { "$set": { "messages": messages, "last_sequence": 4_i64 } };
    t.update("chat_sessions", t.session(), set).await;
    let expected = Found {
        faults: vec![format!("{chat_id}: not signed, and appended by no service: message 3")],
        signed: 0,
        unsigned: 3,
    };
    assert_eq!(verified(&database, &[]).await, expected);
    assert_eq!(sign_all(&*database, None).await.unwrap().broken, 1);
    assert_eq!(verified(&database, &[]).await, expected);
    // What follows is not signed either: a checkpoint says nothing of a part of a chat.
    database.append(&scope(), &chat_id, numbered("more", 2)).await.unwrap();
    assert_eq!(sign_all(&*database, None).await.unwrap().broken, 1);
    assert_eq!(verified(&database, &[]).await, Found { unsigned: 5, ..expected });
}

#[tokio::test]
async fn a_chat_that_cannot_be_read_hides_no_other() {
    let database = signing().await;
    let first = chat(&database).await;
    let second = chat(&database).await;
    for chat_id in [&first, &second] {
        database.append(&scope(), chat_id, numbered("ids", 3)).await.unwrap();
    }
    sign(&database).await;
    let [unreadable, forged] = if first < second { [&first, &second] } else { [&second, &first] };
    let t = Tamper { database: &database, source: forged };
    t.update("chat_sessions", t.session(), doc! { "$set": { "messages.1.content": "no" } }).await;
    let sound = copy(&database).await;
    for (collection, damage) in [
        ("chat_sessions", doc! { "messages": "zz" }),
        ("chat_sessions", doc! { "messages.0.content": bson::DateTime::now() }),
        ("chat_sessions", doc! { "schema_version": 99_i64 }),
        ("integrity_chains", doc! { "signed": Bson::Null }),
    ] {
        let one = doc! { "_id": unreadable.as_str() };
        t.update(collection, one, doc! { "$set": &damage }).await;
        let faults = verified(&database, &[]).await.faults;
        let [of_first, of_second] = &faults[..] else { panic!("{damage} {faults:?}") };
        assert!(of_first.contains("cannot be compared"), "{damage} {of_first}");
        assert!(of_second.contains("changed by no service: message 1"), "{damage} {of_second}");
        restore(&database, &sound).await;
    }
}

#[tokio::test]
async fn a_chat_that_cannot_be_signed_keeps_no_other_from_it() {
    let database = signing().await;
    let damaged = chat(&database).await;
    database.append(&scope(), &damaged, numbered("ids", 3)).await.unwrap();
    sign(&database).await;
    let sound = copy(&database).await;
    for (collection, damage) in [
        ("chat_sessions", doc! { "schema_version": 99_i64 }),
        ("chat_sessions", doc! { "messages": "zz" }),
        ("integrity_chains", doc! { "app_id": "elsewhere" }),
        ("integrity_chains", doc! { "open": "zz" }),
    ] {
        database.append(&scope(), &damaged, numbered("more", 1)).await.unwrap();
        let t = Tamper { database: &database, source: &damaged };
        t.update(collection, t.session(), doc! { "$set": &damage }).await;
        let next = chat(&database).await;
        database.append(&scope(), &next, numbered("ids", 2)).await.unwrap();
        sign_all(&*database, None).await.unwrap();
        let proof = database.prove_message(&scope(), &next, 1).await.unwrap();
        assert_eq!(proof.verdict, Verdict::Signed, "{damage}");
        restore(&database, &sound).await;
    }
}

#[tokio::test]
async fn a_chat_that_only_looks_purged_is_found() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, numbered("ids", 3)).await.unwrap();
    sign(&database).await;
    let t = Tamper { database: &database, source: &chat_id };
    t.update("chat_sessions", t.session(), doc! { "$set": { "lifecycle": 4 } }).await;
    let found = verified(&database, &[]).await.faults;
    assert_eq!(found, [format!("{chat_id}: it is marked as purged, and has 3 messages")]);
}

#[tokio::test]
async fn messages_without_a_tag_are_accepted_before_the_first_with_one() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    let mut options = database.options.clone();
    options.integrity = None;
    let without_key = persistence::mongo::MongoStore::connect(&options).await.unwrap();
    without_key.append(&scope(), &chat_id, numbered("ids", 3)).await.unwrap();
    database.append(&scope(), &chat_id, numbered("more", 3)).await.unwrap();
    assert_eq!(verified(&database, &[]).await, Found { unsigned: 6, ..Found::default() });
    assert_eq!(sign(&database).await, 6);
    without_key.append(&scope(), &chat_id, numbered("later", 1)).await.unwrap();
    assert_eq!(sign_all(&*database, None).await.unwrap().broken, 1);
    let found = verified(&database, &[]).await;
    let faults = [format!("{chat_id}: not signed, and appended by no service: message 6")];
    assert_eq!((found.faults.as_slice(), found.signed), (faults.as_slice(), 6));
    let proof = database.prove_message(&scope(), &chat_id, 6).await.unwrap();
    assert_eq!(proof.verdict, Verdict::Broken);
}

#[tokio::test]
async fn every_message_has_a_tag_whatever_json_it_has() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    let strange = json!([
        null, true, -0.0, 1e300, 0.1, i64::MAX, i64::MIN, "", "\u{0}\u{fffd}\u{1F9FA}", [[]], {},
        { "": 1, "$oid": "5", "a.b": { "$numberLong": "7" }, "z": 1, "a": 2 },
    ]);
    let mut body = MessageBody::new("assistant", Some("a"), strange.clone());
    body.metadata =
        Some(json!({ "$date": 0, "zz": 1, "aa": strange }).as_object().unwrap().clone());
    body.timestamp = Some("yesterday".to_owned());
    body.extra.insert("content_blocks".to_owned(), json!([{ "type": "text", "text": "é" }]));
    body.extra.insert("tool_error".to_owned(), json!(null));
    let author =
        Author { user_id: UserId::parse("carol").unwrap(), display_name: "Carol é".parse().ok() };
    let new = NewMessage { event_id: None, author: Some(author), body };
    database.append(&scope(), &chat_id, vec![new, message(None).remove(0)]).await.unwrap();
    seal(&database, &chat_id).await;
    assert_eq!(sign(&database).await, 2);
    database.append(&scope(), &chat_id, numbered("more", 3)).await.unwrap();
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    edit(&database, &fork, 0, "edited before it is signed").await;
    edit(&database, &fork, 4, "edited before it is signed").await;
    assert_eq!(sign(&database).await, 8);
    let found = Found { signed: 10, ..Found::default() };
    assert_eq!(verified(&database, &[]).await, found);
}

#[tokio::test]
async fn an_older_copy_of_the_database_is_found_with_an_exported_checkpoint() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, numbered("ids", 300)).await.unwrap();
    sign(&database).await;
    let older = copy(&database).await;
    database.append(&scope(), &chat_id, message(Some("last"))).await.unwrap();
    edit(&database, &chat_id, 5, "after").await;
    sign(&database).await;
    let exported = database.checkpoints(&scope().app_id, None, 10).await.unwrap();
    let exported: Vec<String> = exported.into_iter().map(|it| it.signed).collect();
    assert_eq!(exported.len(), 1);
    assert_eq!(verified(&database, &exported).await.faults, [""; 0]);
    // The chain goes on from there.
    database.append(&scope(), &chat_id, numbered("more", 300)).await.unwrap();
    sign(&database).await;
    assert_eq!(verified(&database, &exported).await.faults, [""; 0]);
    restore(&database, &older).await;
    // By itself the older copy is sound.
    assert_eq!(verified(&database, &[]).await.faults, [""; 0]);
    let found = verified(&database, &exported).await.faults;
    assert!(found.len() == 1 && found[0].contains("has only 300"), "{found:?}");
    // Other messages in their place are found, too.
    database.append(&scope(), &chat_id, numbered("others", 10)).await.unwrap();
    sign(&database).await;
    let found = verified(&database, &exported).await.faults;
    assert!(found.len() == 1 && found[0].contains("began with others"), "{found:?}");
}

#[tokio::test]
async fn a_message_is_proven_to_whoever_may_read_it() {
    let database = signing().await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, numbered("ids", 300)).await.unwrap();
    let prove = async |sequence| database.prove_message(&scope(), &chat_id, sequence).await;
    let proof = prove(5).await.unwrap();
    assert_eq!((proof.verdict, proof.checkpoint), (Verdict::Unsigned, None));
    sign(&database).await;
    let proof = prove(5).await.unwrap();
    assert_eq!(proof.verdict, Verdict::Signed);
    let (checkpoint, inclusion) = (proof.checkpoint.unwrap(), proof.inclusion.unwrap());
    assert_eq!((checkpoint.commitments, checkpoint.messages), (300, 300));
    let keys = database.options.integrity.clone().unwrap();
    assert_eq!(Checkpoint::verified(&keys, &checkpoint.signed), Some(checkpoint.clone()));
    let other = IntegrityKeys::new(&new_key(), &[]).unwrap();
    assert_eq!(Checkpoint::verified(&other, &checkpoint.signed), None);
    assert_eq!((inclusion.index, inclusion.block_size, inclusion.path.len()), (5, 256, 8));
    assert!(inclusion.statement.contains(r#""event_id":"ids_5""#), "{}", inclusion.statement);
    edit(&database, &chat_id, 5, "after").await;
    let proof = prove(5).await.unwrap();
    assert!(proof.verdict == Verdict::Unsigned && proof.inclusion.is_none());
    sign(&database).await;
    let inclusion = prove(5).await.unwrap().inclusion.unwrap();
    assert_eq!((inclusion.index, inclusion.block_size, inclusion.changes), (44, 45, 1));
    let t = Tamper { database: &database, source: &chat_id };
    let set = doc! { "$set": { "messages.9.content": "forged" } };
    let first = doc! { "_id.chat_id": chat_id.as_str() };
    seal(&database, &chat_id).await;
    t.update("chat_segments", first, set).await;
    assert_eq!(prove(9).await.unwrap().verdict, Verdict::Broken);
    assert_eq!(prove(8).await.unwrap().verdict, Verdict::Signed);
    assert!(prove(300).await.is_err());
}

#[tokio::test]
async fn a_new_key_goes_on_with_what_an_earlier_one_has_signed() {
    let first = new_key();
    let keys = IntegrityKeys::new(&first, &[]).unwrap();
    let database = Database::create_with(|options| options.integrity = Some(keys)).await;
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, numbered("ids", 10)).await.unwrap();
    edit(&database, &chat_id, 3, "by the first").await;
    sign(&database).await;
    edit(&database, &chat_id, 4, "by the first").await;
    for (earlier, is_known) in [(vec![], false), (vec![first], true)] {
        let mut options = database.options.clone();
        options.integrity = Some(IntegrityKeys::new(&new_key(), &earlier).unwrap());
        let store = persistence::mongo::MongoStore::connect(&options).await.unwrap();
        let pass = sign_all(&store, None).await.unwrap();
        assert_eq!((pass.broken, pass.commitments), if is_known { (0, 1) } else { (1, 0) });
    }
}

#[tokio::test]
async fn processes_sign_beside_writers_and_each_other() {
    let database = signing().await;
    let chat_id = &chat(&database).await;
    let other = &persistence::mongo::MongoStore::connect(&database.options).await.unwrap();
    let write = async {
        for n in 0..60 {
            database.append(&scope(), chat_id, numbered(&format!("g{n}"), 10)).await.unwrap();
            edit(&database, chat_id, n * 7, &format!("edit {n}")).await;
            if n % 9 == 0 {
                seal(&database, chat_id).await;
            }
        }
    };
    let passes = |store: persistence::mongo::MongoStore| async move {
        for _ in 0..60 {
            assert_eq!(sign_all(&store, None).await.unwrap().broken, 0);
        }
    };
    tokio::join!(write, passes(database.store.clone()), passes(other.clone()));
    sign(&database).await;
    let found = Found { faults: Vec::new(), signed: 600, unsigned: 0 };
    assert_eq!(verified(&database, &[]).await, found);
    let blocks = database.raw.collection::<RawDocumentBuf>("integrity_blocks");
    let blocks: Vec<_> = blocks.find(doc! {}).await.unwrap().try_collect().await.unwrap();
    assert!(blocks.len() >= 2, "{}", blocks.len());
}
