//! How processes of an older release behave before and after an upgrade is finished.

use std::collections::BTreeMap;

use bson::{Bson, Document, RawDocumentBuf, doc};
use persistence::mongo::{FinishedUpgrade, FormatStatus, Interruption, MongoStore};
use persistence::{
    AppDocuments, Apps, Assistants, ChatFilter, ChatOrder, ChatSessions, Forks, MessageRange,
    Messages, PutCondition, StoreError, Streams, ToolRuns,
};
use records::{
    Actor, AppId, AssistantContent, AssistantId, ChatId, DocumentPath, Lifecycle, MessageBody,
    MessageEdit, MetadataFilter, NewAssistant, NewChatSession, NewDocument, NewFork, NewStream,
    NewToolRun, Scope, SessionChange, StatedBinding, StreamFormat, StreamHeader, TitlePart,
    WorkflowName,
};

use super::database::Database;
use super::goldens::{assert_fields, golden};

/// The `schema_version` that releases before the first newer shape read and write.
const OLDER: i64 = 1;

/// The newest format of this release.
pub(super) const NEWEST: i64 = 12;

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

fn golden_chat() -> ChatId {
    ChatId::parse("chat_golden").unwrap()
}

/// Creates a database as an older release leaves it: a chat with sealed messages, and no format.
async fn older_database() -> Database {
    let chat = ("chat_sessions", golden("chat_session", 1));
    let sealed = ("chat_segments", golden("chat_segment", 1));
    let context = ("chat_blobs", golden("chat_blob", 1));
    Database::create_older(&[chat, sealed, context]).await
}

/// Connects like another process.
async fn another_process(database: &Database) -> MongoStore {
    MongoStore::connect(&database.options).await.unwrap()
}

/// Creates a chat of 40 messages, 36 of them sealed.
async fn sealed_chat(database: &Database) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let messages = (0..40).map(|_| MessageBody::new("user", Some("user"), "hello").into());
    database.append(&scope(), &chat_id, messages.collect()).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    chat_id
}

/// Returns every document of the database, by collection.
async fn everything(database: &Database) -> BTreeMap<String, Vec<Document>> {
    let mut everything = BTreeMap::new();
    for name in database.raw.list_collection_names().await.unwrap() {
        let documents = database.all(&name).await;
        let documents = documents.iter().map(|raw| Document::try_from(&**raw).unwrap());
        everything.insert(name, documents.collect());
    }
    everything
}

/// Returns whether a document has a salt.
fn has_salt(document: &Document) -> bool {
    document.iter().any(|(key, value)| {
        key == "salt"
            || match value {
                Bson::Document(inner) => has_salt(inner),
                Bson::Array(items) => items.iter().filter_map(Bson::as_document).any(has_salt),
                _ => false,
            }
    })
}

/// Returns whether an older process would misread a document: it has fields for shared sealed messages, it is deleted, it
/// has digests with salts, or it is a rollup that names a user.
fn would_be_misread(collection: &str, document: &Document) -> bool {
    let has_bases = document.get_array("bases").is_ok_and(|bases| !bases.is_empty());
    let is_shared = document.get_i64("shared_below").is_ok_and(|below| below > 0);
    let is_deleted = document.get_i32("lifecycle").is_ok_and(|lifecycle| lifecycle > 2);
    let names_user = collection == "workflow_stats" && document.contains_key("user_id");
    collection == "chat_sessions" && (has_bases || is_shared || is_deleted)
        || names_user
        || has_salt(document)
}

/// Returns whether an older process refuses a document.
fn is_refused(document: &Document) -> bool {
    document.get_i64("schema_version").unwrap() > OLDER
}

async fn stored_format(database: &Database) -> Option<i64> {
    let format = database.raw.collection::<RawDocumentBuf>("store_format");
    let found = format.find_one(doc! {}).await.unwrap();
    found.map(|raw| raw.get_i64("format").unwrap())
}

#[tokio::test]
async fn an_older_process_refuses_exactly_the_documents_that_it_would_misread() {
    let database = Database::create_unsealed().await;
    let source = sealed_chat(&database).await;
    let untouched = sealed_chat(&database).await;
    let fork = database.fork_chat(&scope(), &source, NewFork::default()).await.unwrap().chat_id;
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    database.update_message(&scope(), &fork, 0, edit).await.unwrap();
    let short = NewFork { sequence: Some(0), ..NewFork::default() };
    let unshared = database.fork_chat(&scope(), &untouched, short).await.unwrap().chat_id;
    for lifecycle in [Lifecycle::Archived, Lifecycle::Deleted] {
        let chat_id = sealed_chat(&database).await;
        let change = SessionChange::to_lifecycle(lifecycle);
        database.change_chat(&scope(), &chat_id, change).await.unwrap();
    }

    for (collection, documents) in everything(&database).await {
        for document in documents {
            let would_be_misread = would_be_misread(&collection, &document);
            assert_eq!(is_refused(&document), would_be_misread, "{collection}: {document}");
        }
    }
    // The filter with which an older process begins every write to a session.
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    for (chat_id, is_written) in [(&source, 0), (&fork, 0), (&untouched, 0), (&unshared, 1)] {
        let filter = doc! { "_id": chat_id.as_str(), "schema_version": { "$lte": OLDER } };
        let write = sessions.update_one(filter, doc! { "$inc": { "revision": 1_i64 } });
        assert_eq!(write.await.unwrap().matched_count, is_written, "{chat_id}");
    }
    // This release still writes to all of them.
    for chat_id in [&source, &fork, &untouched, &unshared] {
        let message = MessageBody::new("user", Some("user"), "more").into();
        database.append(&scope(), chat_id, vec![message]).await.unwrap();
    }
}

#[tokio::test]
async fn a_new_database_starts_at_the_newest_format() {
    let database = Database::create().await;
    assert_eq!(stored_format(&database).await, Some(NEWEST));
    let written = &everything(&database).await["store_format"][0];
    assert_fields(written, &golden("store_format", 1), "store_format");
    let status = database.format_status().await.unwrap();
    assert_eq!(status, FormatStatus { stored: NEWEST, newest: NEWEST, pending: Vec::new() });
}

/// A command may write before the first service starts.
#[tokio::test]
async fn the_first_write_recognises_a_new_database() {
    let database = Database::create_unprepared(|_| {}).await;
    database.register_app(&Actor::command_line(), &scope().app_id).await.unwrap();
    assert_eq!(stored_format(&database).await, Some(NEWEST));

    let database = Database::create_unprepared(|_| {}).await;
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    another_process(&database)
        .await
        .fork_chat(&scope(), &chat_id, NewFork::default())
        .await
        .unwrap();
}

#[tokio::test]
async fn before_the_upgrade_is_finished_a_fork_is_refused_and_changes_nothing() {
    let database = older_database().await;
    let before = everything(&database).await;
    for sequence in [None, Some(0)] {
        let fork = NewFork { sequence, ..NewFork::default() };
        let refusal = database.fork_chat(&scope(), &golden_chat(), fork).await.unwrap_err();
        let advice = "run `reprise upgrade --finish`";
        assert!(refusal.to_string().contains(advice), "{refusal}");
        let StoreError::UpgradePending { shape, needed, stored } = refusal else {
            panic!("{refusal:?}");
        };
        assert_eq!((shape, needed, stored), ("forks", 2, 1));
    }
    // Chats are archived at every format, but deleted only at the one that older releases refuse.
    let delete = SessionChange::to_lifecycle(Lifecycle::Deleted);
    let refusal = database.change_chat(&scope(), &golden_chat(), delete).await.unwrap_err();
    let StoreError::UpgradePending { shape, needed, stored } = refusal else {
        panic!("{refusal:?}");
    };
    assert_eq!((shape, needed, stored), ("deleted chats", 3, 1));
    let by_activity = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    let refusal = database.list_chats(&scope(), &by_activity, 10, None).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 3, .. }), "{refusal:?}");
    let by_title = ChatFilter { order: ChatOrder::Title, ..ChatFilter::default() };
    let refusal = database.list_chats(&scope(), &by_title, 10, None).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 4, .. }), "{refusal:?}");
    let metadata = MetadataFilter::parse("customer:acme").ok();
    let by_metadata = ChatFilter { metadata, ..ChatFilter::default() };
    let refusal = database.list_chats(&scope(), &by_metadata, 10, None).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 4, .. }), "{refusal:?}");
    let run = NewToolRun { tool_name: "search".to_owned(), ..NewToolRun::default() };
    let refusal = database.record_tool_runs(&scope(), &golden_chat(), vec![run]).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 7, .. }), "{refusal:?}");
    let assistant_id = AssistantId::parse("weather").unwrap();
    let content =
        AssistantContent { name: "A".into(), kind: "a".into(), ..AssistantContent::default() };
    let new = NewAssistant { content, ..NewAssistant::default() };
    let refusal = database.put_assistant(&scope(), &assistant_id, new).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 8, .. }), "{refusal:?}");
    let path = DocumentPath::parse("notes/plan.md").unwrap();
    let new = NewDocument {
        binding: StatedBinding::default(),
        content_type: "text/plain".to_owned(),
        content: b"x".to_vec(),
        lifetime: None,
    };
    let refusal =
        database.put_document(&scope(), &path, new, PutCondition::default()).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 9, .. }), "{refusal:?}");
    let header = StreamHeader { format: StreamFormat::Text, agent: None, request_id: None };
    let new = NewStream { stream_id: None, header };
    let refusal = database.start_stream(&scope(), &golden_chat(), new).await.unwrap_err();
    assert!(matches!(refusal, StoreError::UpgradePending { needed: 10, .. }), "{refusal:?}");
    assert_eq!(everything(&database).await, before);
    let archive = SessionChange::to_lifecycle(Lifecycle::Archived);
    database.change_chat(&scope(), &golden_chat(), archive).await.unwrap();
    let status = database.format_status().await.unwrap();
    assert_eq!(
        status,
        FormatStatus {
            stored: 1,
            newest: NEWEST,
            pending: vec![
                "forks",
                "deleted chats",
                "lists by activity",
                "title search",
                "salts",
                "lists by title",
                "message search",
                "lists by metadata",
                "usage of users",
                "statistics of users",
                "runs of tools",
                "assistants",
                "documents",
                "streams",
                "integrity",
                "tags of messages",
            ]
        }
    );
}

#[tokio::test]
async fn a_finished_upgrade_takes_effect_in_every_process_at_once() {
    let database = older_database().await;
    let fork = async || database.fork_chat(&scope(), &golden_chat(), NewFork::default()).await;
    assert!(matches!(fork().await, Err(StoreError::UpgradePending { .. })));

    let finished = another_process(&database).await.finish_upgrade().await.unwrap();
    assert_eq!(finished, FinishedUpgrade { from: 1, to: NEWEST, marked: 0, counted: 0 });
    let mut expected = golden("chat_session", 1);
    let prepared = everything(&database).await["chat_sessions"][0].clone();
    let minute = prepared.get_datetime("active_minute").unwrap();
    expected.insert("active_minute", minute);
    expected.insert("title_trigrams", vec!["cni", "icn", "nic", "pic"]);
    expected.insert("title_key", "picnic");
    expected.insert("sort", 0);
    assert_eq!(prepared, expected);

    let fork = fork().await.unwrap().chat_id;
    let page = database.messages(&scope(), &fork, MessageRange::all()).await.unwrap();
    let source = database.messages(&scope(), &golden_chat(), MessageRange::all()).await.unwrap();
    assert_eq!(page.messages, source.messages);
    let sessions = &everything(&database).await["chat_sessions"];
    assert!(sessions.iter().all(is_refused), "{sessions:?}");
}

#[tokio::test]
async fn finishing_an_upgrade_again_changes_nothing() {
    let database = older_database().await;
    database.finish_upgrade().await.unwrap();
    let before = everything(&database).await;
    for store in [database.store.clone(), another_process(&database).await] {
        let again = store.finish_upgrade().await.unwrap();
        assert_eq!(again, FinishedUpgrade { from: NEWEST, to: NEWEST, marked: 0, counted: 0 });
    }
    assert_eq!(everything(&database).await, before);
}

/// Chats as a release with forks and without formats has stored them.
#[tokio::test]
async fn finishing_an_upgrade_marks_existing_chats_with_shared_messages() {
    let database = older_database().await;
    let shared = doc! { "$set": { "shared_below": 2_i64, "shared_revision": 1_i64 } };
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    sessions.update_one(doc! {}, shared).await.unwrap();
    database.insert("chat_sessions", golden("chat_fork", 1)).await;
    let mut unreadable = golden("chat_session", 1);
    unreadable.extend(doc! { "_id": "chat_damaged", "bases": "none" });
    database.insert("chat_sessions", unreadable).await;
    // More chats than one page holds.
    for n in 0..250 {
        let mut plain = golden("chat_session", 1);
        plain.insert("_id", format!("chat_plain_{n}"));
        database.insert("chat_sessions", plain).await;
    }

    assert_eq!(database.finish_upgrade().await.unwrap().marked, 2);
    for session in &everything(&database).await["chat_sessions"] {
        assert_eq!(is_refused(session), would_be_misread("chat_sessions", session), "{session}");
    }
    assert_eq!(database.finish_upgrade().await.unwrap().marked, 0);
}

#[tokio::test]
async fn a_database_of_a_newer_release_keeps_its_format() {
    let database = Database::create().await;
    let newer = doc! { "$set": { "format": NEWEST + 1 } };
    let format = database.raw.collection::<RawDocumentBuf>("store_format");
    format.update_one(doc! {}, newer).await.unwrap();
    let before = everything(&database).await;

    let store = another_process(&database).await;
    let status = store.format_status().await.unwrap();
    assert_eq!((status.stored, status.newest), (NEWEST + 1, NEWEST));
    let refusal = store.finish_upgrade().await.unwrap_err();
    let StoreError::UnsupportedVersion { found, supported, .. } = refusal else {
        panic!("{refusal:?}");
    };
    assert_eq!((found, supported), (NEWEST + 1, NEWEST));
    assert_eq!(everything(&database).await, before);
    // The store still writes the shapes of its own format to that database.
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = store.create_chat(&scope(), new).await.unwrap().chat_id;
    store.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap();
}

#[tokio::test]
async fn a_process_that_knows_the_newest_format_does_not_read_it_again() {
    let database = Database::create().await;
    database.insert("chat_sessions", golden("chat_session", 1)).await;
    database.insert("chat_segments", golden("chat_segment", 1)).await;
    let store = another_process(&database).await;
    // A read of the format would appear in the profile like any other command.
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    for _ in 0..3 {
        let message = MessageBody::new("user", Some("user"), "more").into();
        store.append(&scope(), &golden_chat(), vec![message]).await.unwrap();
    }
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let namespaces = database.all("system.profile").await;
    let namespaces: Vec<&str> = namespaces.iter().map(|raw| raw.get_str("ns").unwrap()).collect();
    assert!(namespaces.iter().any(|ns| ns.ends_with("chat_sessions")), "{namespaces:?}");
    let reads = namespaces.iter().filter(|ns| ns.ends_with("store_format")).count();
    assert!(reads <= 1, "{namespaces:?}");
}

#[tokio::test]
async fn the_end_of_an_upgrade_fills_in_and_corrects_the_minute_of_the_last_activity() {
    let database = older_database().await;
    let appended = sealed_chat(&database).await;
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    // A process of this release created the chat, and one of an earlier release appended to it.
    let behind = doc! { "$set": { "active_minute": bson::DateTime::from_millis(0) } };
    sessions.update_one(doc! { "_id": appended.as_str() }, behind).await.unwrap();
    database.finish_upgrade().await.unwrap();
    let by_activity = ChatFilter { order: ChatOrder::Active, ..ChatFilter::default() };
    let page = database.list_chats(&scope(), &by_activity, 1, None).await.unwrap();
    let rest = database.list_chats(&scope(), &by_activity, 1, page.next.as_ref()).await.unwrap();
    let listed = [page.chats, rest.chats].concat();
    assert_eq!(
        listed.iter().map(|chat| &chat.chat_id).collect::<Vec<_>>(),
        [&appended, &golden_chat()]
    );
    for (chat, document) in listed.iter().zip([&appended, &golden_chat()]) {
        let raw = sessions.find_one(doc! { "_id": document.as_str() }).await.unwrap().unwrap();
        let minute = raw.get_datetime("active_minute").unwrap().to_chrono();
        assert_eq!(minute, chat.active_minute());
    }
}

#[tokio::test]
async fn the_end_of_an_upgrade_makes_titles_findable() {
    let database = older_database().await;
    let filter =
        ChatFilter { title_contains: TitlePart::parse("pic").ok(), ..ChatFilter::default() };
    let refused = database.list_chats(&scope(), &filter, 10, None).await.unwrap_err();
    assert!(matches!(refused, StoreError::UpgradePending { .. }), "{refused:?}");
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    let titled = doc! { "$set": { "title": "A picnic" } };
    sessions.update_one(doc! { "_id": golden_chat().as_str() }, titled).await.unwrap();
    database.finish_upgrade().await.unwrap();
    let found = database.list_chats(&scope(), &filter, 10, None).await.unwrap().chats;
    assert_eq!(found.iter().map(|chat| &chat.chat_id).collect::<Vec<_>>(), [&golden_chat()]);
}

#[tokio::test]
async fn the_end_of_an_upgrade_makes_lists_by_title_and_sort_complete() {
    let database = older_database().await;
    let appended = sealed_chat(&database).await;
    let sessions = database.raw.collection::<RawDocumentBuf>("chat_sessions");
    // A process of this release created the chat, and one of an earlier release changed it.
    let changed = doc! { "$set": { "title": "A budget" }, "$unset": { "sort": "" } };
    sessions.update_one(doc! { "_id": appended.as_str() }, changed).await.unwrap();
    let older = doc! { "$unset": { "title_key": "", "sort": "" } };
    sessions.update_one(doc! { "_id": golden_chat().as_str() }, older).await.unwrap();
    database.finish_upgrade().await.unwrap();
    let listed = async |order| {
        let filter = ChatFilter { order, ..ChatFilter::default() };
        let page = database.list_chats(&scope(), &filter, 1, None).await.unwrap();
        let rest = database.list_chats(&scope(), &filter, 9, page.next.as_ref()).await.unwrap();
        [page.chats, rest.chats].concat().into_iter().map(|chat| chat.chat_id).collect::<Vec<_>>()
    };
    assert_eq!(listed(ChatOrder::Title).await, [appended.clone(), golden_chat()]);
    let mut by_id = [appended, golden_chat()];
    by_id.sort();
    assert_eq!(listed(ChatOrder::Sort).await, by_id);
}
