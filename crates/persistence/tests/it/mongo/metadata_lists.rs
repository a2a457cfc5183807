//! What chats store for lists by their metadata, and when such a list is refused.

use std::sync::Arc;

use bson::{Document, RawDocumentBuf, doc};
use persistence::{Apps, ChatCount, ChatFilter, ChatSessions, Forks, Purges, StoreError};
use records::{
    Actor, Caller, ChatId, FieldChange, JsonObject, MetadataFilter, MetadataKeys, NewChatSession,
    NewFork, Permission, Scope, SessionChange, SettingsChange, UserId, WorkflowName,
};
use serde_json::Value;

use super::database::Database;
use super::faults::scope;

async fn declare(database: &Database, keys: &[&str]) {
    let keys = keys.iter().map(|key| (*key).to_owned()).collect();
    let metadata_keys = FieldChange::Set(MetadataKeys::parse(keys).unwrap());
    let change = SettingsChange { metadata_keys, ..SettingsChange::default() };
    let actor = Actor::command_line();
    database.register_app(&actor, &scope().app_id).await.unwrap();
    database.update_app(&actor, &scope().app_id, change).await.unwrap();
}

fn metadata(value: impl Into<Value>) -> JsonObject {
    JsonObject::from_iter([("customer".to_owned(), value.into())])
}

async fn create(database: &Database, value: &str) -> ChatId {
    let metadata = metadata(value);
    let new = NewChatSession::of(WorkflowName::parse("flow").unwrap());
    database.create_chat(&scope(), NewChatSession { metadata, ..new }).await.unwrap().chat_id
}

fn acme() -> ChatFilter {
    let metadata = MetadataFilter::parse("customer:acme").ok();
    ChatFilter { metadata, ..ChatFilter::default() }
}

/// Returns the chats of a list, or the key that is being indexed.
async fn listed(database: &Database) -> Result<Vec<ChatId>, String> {
    let counted = database.count_chats(&scope(), &acme()).await;
    match database.list_chats(&scope(), &acme(), 100, None).await {
        Ok(page) => {
            assert_eq!(counted.unwrap(), ChatCount::Exactly(page.chats.len()));
            Ok(page.chats.into_iter().map(|chat| chat.chat_id).collect())
        }
        Err(StoreError::IndexingMetadata(key)) => {
            assert!(matches!(counted, Err(StoreError::IndexingMetadata(_))), "{counted:?}");
            Err(key)
        }
        Err(error) => panic!("{error:?}"),
    }
}

#[tokio::test]
async fn a_list_by_a_new_key_is_refused_until_every_chat_is_indexed() {
    let database = Database::create().await;
    for _ in 0..5 {
        create(&database, "acme").await;
    }
    declare(&database, &["customer"]).await;
    assert_eq!(listed(&database).await, Err("customer".to_owned()));
    assert_eq!(database.index_metadata(3).await.unwrap(), 3);
    assert_eq!(listed(&database).await, Err("customer".to_owned()));
    assert_eq!(database.index_metadata(3).await.unwrap(), 2);
    assert_eq!(listed(&database).await.unwrap().len(), 5);
    assert_eq!(database.index_metadata(3).await.unwrap(), 0);
    // What is created now needs no sweep, nor does a key that stays.
    create(&database, "acme").await;
    assert_eq!(listed(&database).await.unwrap().len(), 6);
    declare(&database, &["customer", "region"]).await;
    assert_eq!(listed(&database).await.unwrap().len(), 6);
    assert_eq!(database.index_metadata(100).await.unwrap(), 6);
}

/// A process may have read the keys before they were changed, and write a chat long after all others were indexed.
#[tokio::test]
async fn a_chat_that_a_slow_process_has_written_is_missed_by_no_list() {
    let database = Database::create().await;
    declare(&database, &["customer"]).await;
    let chat_id = create(&database, "acme").await;
    let current = database.session(&chat_id).await;
    assert_eq!(current.get_i64("attrs_version").unwrap(), 1);
    declare(&database, &["region"]).await;
    database.index_metadata(100).await.unwrap();
    declare(&database, &["customer"]).await;
    database.index_metadata(100).await.unwrap();
    assert_eq!(listed(&database).await.unwrap(), std::slice::from_ref(&chat_id));
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    for stale in [
        doc! { "$unset": { "attrs": "", "attrs_version": "" } },
        doc! { "$set": { "attrs_version": 1_i64 }, "$unset": { "attrs": "" } },
        doc! { "$set": { "attrs_version": 2_i64, "attrs": [{ "k": "region", "v": "eu" }] } },
    ] {
        sessions.update_one(doc! { "_id": chat_id.as_str() }, stale).await.unwrap();
        assert_eq!(listed(&database).await, Err("customer".to_owned()));
        assert_eq!(database.index_metadata(100).await.unwrap(), 1);
        assert_eq!(listed(&database).await.unwrap(), std::slice::from_ref(&chat_id));
    }
    let indexed = database.session(&chat_id).await;
    assert_eq!(indexed.get_array("attrs").unwrap(), current.get_array("attrs").unwrap());
}

#[tokio::test]
async fn chats_of_apps_without_declared_keys_store_nothing_for_them() {
    let database = Database::create().await;
    let chat_id = create(&database, "acme").await;
    let stored = database.session(&chat_id).await;
    assert!(!stored.contains_key("attrs") && !stored.contains_key("attrs_version"));
    declare(&database, &["customer"]).await;
    database.index_metadata(100).await.unwrap();
    assert!(database.session(&chat_id).await.contains_key("attrs"));
    declare(&database, &[]).await;
    // The copies of the texts go, too.
    assert_eq!(database.index_metadata(100).await.unwrap(), 1);
    assert!(!database.session(&chat_id).await.contains_key("attrs"));
    let later = create(&database, "acme").await;
    assert!(!database.session(&later).await.contains_key("attrs"));
}

#[tokio::test]
async fn a_purge_removes_the_attributes_also_while_they_are_indexed() {
    let database = Database::create().await;
    declare(&database, &["customer"]).await;
    let chat_id = create(&database, "a secret").await;
    let fork = NewFork { metadata: metadata("a secret"), ..NewFork::default() };
    let fork = database.fork_chat(&scope(), &chat_id, fork).await.unwrap().chat_id;
    let attrs = database.session(&fork).await.get_array("attrs").unwrap().clone();
    assert_eq!(attrs, [doc! { "k": "customer", "v": "a secret" }.into()]);
    for id in [&chat_id, &fork] {
        database.purge_chat(&Actor::command_line(), &scope(), id, None).await.unwrap();
        let purged = database.session(id).await;
        assert!(!purged.to_string().contains("secret"), "{purged}");
    }
    declare(&database, &["customer", "region"]).await;
    database.index_metadata(100).await.unwrap();
    create(&database, "acme").await;
    assert_eq!(listed(&database).await.unwrap().len(), 1);
}

#[tokio::test]
async fn metadata_that_are_changed_while_they_are_indexed_are_listed() {
    let database = Arc::new(Database::create().await);
    let mut ids = Vec::new();
    for _ in 0..30 {
        ids.push(create(&database, "other").await);
    }
    declare(&database, &["customer"]).await;
    let indexing = {
        let database = Arc::clone(&database);
        tokio::spawn(async move {
            // A list may be complete before the last change, and is refused as long as it is not.
            loop {
                database.index_metadata(4).await.unwrap();
                match database.list_chats(&scope(), &acme(), 100, None).await {
                    Err(StoreError::IndexingMetadata(_)) => {}
                    listed => break drop(listed.unwrap()),
                }
            }
        })
    };
    for id in &ids {
        let change = SessionChange { metadata: Some(metadata("acme")), ..SessionChange::default() };
        database.change_chat(&scope(), id, change).await.unwrap();
    }
    indexing.await.unwrap();
    assert_eq!(listed(&database).await.unwrap().len(), ids.len());
}

/// Fills the database with copies of a chat, of which every hundredth is a chat of a customer.
async fn fill(database: &Database) {
    declare(database, &["customer"]).await;
    let owner = UserId::parse("ann").ok();
    let new = NewChatSession::of(WorkflowName::parse("flow").unwrap());
    let new = NewChatSession { metadata: metadata("acme"), user_id: owner, ..new };
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let change = |number, copy: &mut Document| {
        let customer = if number % 100 == 0 { "acme" } else { "other" };
        copy.insert("_id", format!("a-{number:05}"));
        copy.insert("metadata", doc! { "customer": customer });
        copy.insert("attrs", vec![doc! { "k": "customer", "v": customer }]);
    };
    database.copy_session(&chat_id, 1..5_000, change).await;
}

/// Returns how many documents and keys of sessions the finds since the last call have read, with the index of each.
async fn reads(database: &Database) -> (i64, i64, Vec<String>) {
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let profile = database.all("system.profile").await;
    let of_sessions = format!("{}.chat_sessions", database.raw.name());
    let finds = profile.iter().filter(|it| it.get_str("ns").is_ok_and(|ns| ns == of_sessions));
    let finds: Vec<Document> = finds.map(|raw| Document::try_from(&**raw).unwrap()).collect();
    let number = |it: &Document, field| {
        let found = it.get(field);
        found.and_then(|it| it.as_i64().or(it.as_i32().map(i64::from))).unwrap_or_default()
    };
    let sum = |field| finds.iter().map(|it| number(it, field)).sum();
    let plans = finds.iter().filter_map(|it| it.get_str("planSummary").ok().map(str::to_owned));
    let read = (sum("docsExamined"), sum("keysExamined"), plans.collect());
    database.raw.collection::<RawDocumentBuf>("system.profile").drop().await.unwrap();
    read
}

#[tokio::test]
async fn a_list_by_one_attribute_reads_what_it_returns() {
    let database = Database::create().await;
    fill(&database).await;
    let mut after = None;
    for expected in [20, 20, 10] {
        database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
        let page = database.list_chats(&scope(), &acme(), 20, after.as_ref()).await.unwrap();
        let (documents, keys, plans) = reads(&database).await;
        assert_eq!(page.chats.len(), expected, "{plans:?}");
        let returned = i64::try_from(expected).unwrap();
        // One more shows that there is another page, and each of two finds reads the app.
        assert!(documents <= returned + 3, "{documents} documents for {expected}: {plans:?}");
        assert!(keys <= returned + 40, "{keys} keys for {expected}: {plans:?}");
        after = page.next;
    }
    assert_eq!(after, None);
}

#[tokio::test]
async fn a_list_of_a_person_by_one_attribute_reads_no_more_than_a_bound() {
    let database = Database::create().await;
    fill(&database).await;
    let ann = UserId::parse("ann").unwrap();
    let ann = Caller::User { user_id: ann, team_id: None, may_run: false };
    let ann = Scope::new(scope().app_id, ann, Permission::Read);
    let (mut found, mut pages, mut after) = (0, 0, None);
    loop {
        database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
        let page = database.list_chats(&ann, &acme(), 40, after.as_ref()).await.unwrap();
        let (documents, _, plans) = reads(&database).await;
        // The app is read with each of the three ranges.
        assert!(documents <= 2_000 + 40 + 3, "{documents} documents: {plans:?}");
        found += page.chats.len();
        pages += 1;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert!(found == 50 && pages <= 4, "{found} in {pages}");
    let counted = database.count_chats(&ann, &acme()).await.unwrap();
    assert_eq!(counted, ChatCount::Exactly(50));
}
