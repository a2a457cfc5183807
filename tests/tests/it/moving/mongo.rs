//! Chats that another system keeps in MongoDB.

use std::fs;

use anyhow::{Context as _, Result};
use mongodb::bson::oid::ObjectId;
use mongodb::bson::{Document, doc};
use persistence::{Artifacts as _, ChatSessions as _, Contexts as _};
use records::{AppId, ChatId, ChatSession, ChatStatus, Scope};
use serde_json::{Value, json};
use tests::client::APP;

use super::Place;

const FIXTURES: &str = "../fixtures/moving/mongo";

/// The collection of another system, on the same server as the database.
struct Foreign<'a> {
    place: &'a Place,
    layout: &'static str,
    collection: mongodb::Collection<Document>,
}

impl<'a> Foreign<'a> {
    fn new(place: &'a Place, layout: &'static str) -> Self {
        let collection = place.database.raw().collection(&format!("foreign_{layout}"));
        Self { place, layout, collection }
    }

    /// Inserts the documents of a file of Extended JSON, one a line.
    async fn insert_file(&self, name: &str) -> Result<usize> {
        let lines = fs::read_to_string(format!("{FIXTURES}/{name}"))?;
        let documents: Vec<Document> =
            lines.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
        let count = documents.len();
        self.collection.insert_many(documents).await?;
        Ok(count)
    }

    async fn import(&self, options: &[&str]) -> Result<(Value, String, Option<i32>)> {
        let database = &self.place.database;
        let import = ["import", "mongo", self.layout, "--from", database.uri()];
        let place =
            ["--from-database", database.name(), "--from-collection", self.collection.name()];
        self.place.run(&[&import[..], &place, options].concat()).await
    }
}

async fn chat_of(place: &Place, app: &str, chat_id: &str) -> Result<(Scope, ChatSession)> {
    let scope = Scope::service(AppId::parse(app)?);
    let chat = place.store.get_chat(&scope, &ChatId::parse(chat_id)?).await?;
    Ok((scope, chat.with_context(|| format!("{chat_id} is not stored"))?))
}

#[tokio::test]
async fn chats_of_mozaiks_are_imported_with_their_order_state_and_app() -> Result<()> {
    let place = Place::new().await?;
    let foreign = Foreign::new(&place, "mozaiks");
    foreign.insert_file("mozaiks.jsonl").await?;
    let (dry, ..) = foreign.import(&["--dry-run"]).await?;
    let (numbers, said, code) = foreign.import(&[]).await?;
    assert_eq!((&numbers, code), (&dry, Some(1)), "a dry run counts the same");
    assert_eq!((&numbers["created"], &numbers["stored"]), (&json!(2), &json!(6)), "{said}");
    for expected in [
        "error: bad id: chat_id must",
        "warning: chat_old: has messages out of their order",
        "warning: chat_old: lacks 4 messages, the first between the sequences 2 and 5",
        "error: chat_old: message 7: `role` must be a text",
    ] {
        assert!(said.contains(expected), "{expected} is not in {said}");
    }

    let (scope, done) = chat_of(&place, "6507f1b2e4b0c8a9d2f3e4a5", "chat_done").await?;
    assert_eq!((done.status, done.last_sequence), (ChatStatus::Completed, 3));
    assert_eq!(done.completed_at.context("an end")?.to_rfc3339(), "2025-11-03T09:05:00+00:00");
    let snapshot = place.store.load_context_snapshot(&scope, &done.chat_id).await?;
    let expected = json!({ "approved": true, "at": "2025-11-03T09:04:30.000Z" });
    assert_eq!(Value::Object(snapshot.data), expected);
    let artifact = place.store.get_last_artifact(&scope, &done.chat_id).await?;
    assert_eq!(artifact.context("an artifact")?.payload, json!({ "cards": 2 }));

    let (scope, old) = chat_of(&place, "shop", "chat_old").await?;
    assert_eq!(
        (old.status, old.metadata["trace_id"].as_str()),
        (ChatStatus::Running, Some("9c1d"))
    );
    assert_eq!(old.last_message_at.context("a time")?.to_rfc3339(), "2024-05-01T08:09:00+00:00");
    let messages = place.messages_in(&scope, &old.chat_id).await?;
    let spoken: Vec<_> = messages.iter().map(|it| (it.body.speaker(), &it.body.content)).collect();
    let [first, second, third] = [json!("first"), json!({ "text": "second" }), json!("third")];
    assert_eq!(spoken, [("user", &first), ("writer", &second), ("writer", &third)]);

    // Again, after the old one has grown: what it has is known, what is new is added.
    let grown =
        doc! { "$push": { "messages": { "role": "user", "content": "fourth", "sequence": 10 } } };
    foreign.collection.update_one(doc! { "_id": "chat_old" }, grown).await?;
    let (numbers, ..) = foreign.import(&[]).await?;
    let counts = ["created", "stored", "known"].map(|name| numbers[name].clone());
    assert_eq!(counts, [0, 1, 6].map(Value::from));
    Ok(())
}

#[tokio::test]
async fn sessions_of_langchain_and_of_the_agents_sdk_are_imported_once() -> Result<()> {
    for (layout, chat_id, roles) in [
        ("langchain", "session_1", ["user", "assistant", "tool", "assistant"].as_slice()),
        ("openai-agents", "session_1", &["user", "assistant", "tool", "assistant"]),
    ] {
        let place = Place::new().await?;
        let foreign = Foreign::new(&place, layout);
        foreign.insert_file(&format!("{layout}.jsonl")).await?;
        let without_app = foreign.import(&[]).await?;
        assert!(without_app.1.contains("names no app: use --app"), "{}", without_app.1);
        let (numbers, said, code) = foreign.import(&["--app", APP]).await?;
        assert_eq!((&numbers["created"], code), (&json!(2), Some(0)), "{layout}: {said}");
        assert!(said.contains("is no id of a chat: the chat is "), "{layout}: {said}");
        let stored = place.messages_of(chat_id).await?;
        let found: Vec<_> = stored.iter().map(|message| message.body.role.as_str()).collect();
        assert_eq!(found, roles, "{layout}");
        let all = numbers["stored"].clone();
        let (again, ..) = foreign.import(&["--app", APP]).await?;
        let counts = (&again["created"], &again["stored"], &again["known"]);
        assert_eq!(counts, (&json!(0), &json!(0), &all), "{layout}");
    }
    Ok(())
}

#[tokio::test]
async fn what_a_cleared_session_has_left_behind_is_not_imported() -> Result<()> {
    let place = Place::new().await?;
    let foreign = Foreign::new(&place, "openai-agents");
    let document = |generation: i32, text: &str| {
        let item = json!({ "role": "user", "content": text }).to_string();
        doc! { "_id": ObjectId::new(), "session_id": "s1", "seq": generation, "generation": generation,
        "message_data": [item] }
    };
    foreign.collection.insert_many([document(0, "old"), document(1, "new")]).await?;
    let (numbers, said, _) = foreign.import(&["--app", APP]).await?;
    assert_eq!((&numbers["stored"], &numbers["warnings"]), (&json!(1), &json!(1)), "{said}");
    assert_eq!(place.messages_of("s1").await?[0].body.content, "new");
    Ok(())
}

#[tokio::test]
async fn a_message_that_is_imported_late_stands_behind_the_others_and_that_is_said() -> Result<()> {
    let place = Place::new().await?;
    let foreign = Foreign::new(&place, "langchain");
    let history = |text: &str| {
        json!({ "type": "human", "data": { "content": text, "id": text } }).to_string()
    };
    let [first, mended, last] = [(); 3].map(|()| ObjectId::new());
    let document =
        |id: ObjectId, history: &str| doc! { "_id": id, "SessionId": "s1", "History": history };
    let documents = [
        document(first, &history("first")),
        document(mended, "{"),
        document(last, &history("last")),
    ];
    foreign.collection.insert_many(documents).await?;
    let import = ["--app", APP];
    let (numbers, said, code) = foreign.import(&import).await?;
    assert_eq!((&numbers["stored"], code), (&json!(2), Some(1)), "{said}");
    let whole = doc! { "$set": { "History": history("mended") } };
    foreign.collection.update_one(doc! { "_id": mended }, whole).await?;
    let late = "warning: s1: has messages that were not imported before: they stand behind those that were";
    for options in [&["--app", APP, "--dry-run"][..], &import] {
        let (numbers, said, code) = foreign.import(options).await?;
        let counts = (&numbers["stored"], &numbers["known"]);
        assert_eq!((counts, code), ((&json!(1), &json!(2)), Some(0)), "{said}");
        assert!(said.contains(late), "{late} is not in {said}");
    }
    let stored = place.messages_of("s1").await?;
    let contents: Vec<_> = stored.iter().map(|message| &message.body.content).collect();
    assert_eq!(contents, ["first", "last", "mended"]);
    let (_, said, _) = foreign.import(&import).await?;
    assert!(!said.contains("warning"), "{said}");
    // The other system takes one back, and goes on.
    foreign.collection.delete_one(doc! { "_id": last }).await?;
    foreign.collection.insert_one(document(ObjectId::new(), &history("other"))).await?;
    let (_, said, _) = foreign.import(&import).await?;
    let others = "warning: s1: has messages that the collection does not have (1): the new ones stand behind them";
    assert!(said.contains(others), "{others} is not in {said}");
    Ok(())
}

#[tokio::test]
async fn a_collection_that_does_not_exist_is_an_error_that_names_the_others() -> Result<()> {
    let place = Place::new().await?;
    let foreign = Foreign::new(&place, "langchain");
    let database = &place.database;
    let import = async |from_database: &str| -> Result<(String, Option<i32>)> {
        let from = ["import", "mongo", "langchain", "--app", APP, "--from", database.uri()];
        let collection = ["--from-collection", foreign.collection.name()];
        let arguments = [&from[..], &["--from-database", from_database], &collection].concat();
        let output = tests::binary::run(&arguments, &place.settings).await?;
        Ok((String::from_utf8(output.stderr)?, output.status.code()))
    };
    let (said, code) = import(database.name()).await?;
    let other =
        "has no collection foreign_langchain: name another one with --from-collection; it has ";
    assert!(said.contains(other) && said.contains("chat_sessions"), "{said}");
    assert_eq!(code, Some(1));
    let (said, code) = import("mistyped").await?;
    let other = "has no database mistyped: name another one with --from-database; it has ";
    assert!(said.contains(other), "{said}");
    assert_eq!(code, Some(1));
    // An empty one is none that is missing.
    foreign.collection.insert_one(doc! {}).await?;
    foreign.collection.delete_many(doc! {}).await?;
    assert_eq!(import(database.name()).await?.1, Some(0));
    Ok(())
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_an_error() -> Result<()> {
    let place = Place::new().await?;
    let import = ["import", "mongo", "langchain", "--app", APP, "--from"];
    let uri = ["mongodb://u:secret@127.0.0.1:1/?serverSelectionTimeoutMS=100"];
    let output = tests::binary::run(&[&import[..], &uri].concat(), &place.settings).await?;
    let said = String::from_utf8(output.stderr)?;
    assert!(said.contains("the collection cannot be read") && !said.contains("secret"), "{said}");
    // The address is not that of the settings.
    assert!(said.contains("in its connection string") && !said.contains("mongo.uri"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    Ok(())
}
