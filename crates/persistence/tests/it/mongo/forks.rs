//! The cost of forks, and the messages that forks share.

use std::collections::BTreeMap;

use bson::{Document, RawDocumentBuf, doc};
use futures::TryStreamExt as _;
use persistence::mongo::{Interruption, MongoStore};
use persistence::{ChatSessions, Forks, MessageRange, Messages, Purges};
use records::{Actor, ChatId, MessageBody, MessageEdit, NewFork};

use super::database::Database;
use super::faults::{chat, numbered, scope};
use super::purges::holding;

/// Creates a chat of this many messages, all but the newest of them sealed.
async fn long_chat(database: &Database, messages: usize) -> ChatId {
    let chat_id = chat(database).await;
    for batch in 0..messages / 500 {
        let messages = numbered(&format!("evt_{batch}"), 500);
        database.append(&scope(), &chat_id, messages).await.unwrap();
    }
    database.append(&scope(), &chat_id, numbered("last", 9)).await.unwrap();
    chat_id
}

async fn fork(database: &Database, chat_id: &ChatId, sequence: Option<u64>) -> ChatId {
    let fork = NewFork { sequence, ..NewFork::default() };
    database.fork_chat(&scope(), chat_id, fork).await.unwrap().chat_id
}

async fn edit(database: &Database, chat_id: &ChatId, sequence: u64, text: &str) {
    let edit = MessageEdit { content: Some(text.into()), ..MessageEdit::default() };
    database.update_message(&scope(), chat_id, sequence, edit).await.unwrap();
}

/// Returns the operations of the server on this store's collections while `work` runs, with their
/// namespaces and the numbers of documents that were read and written.
async fn profiled(database: &Database, work: impl Future<Output = ChatId>) -> Vec<String> {
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    work.await;
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    let ours = doc! { "ns": { "$not": { "$regex": "system|\\$cmd" } } };
    let found: Vec<_> = profile.find(ours).await.unwrap().try_collect().await.unwrap();
    let operation = |raw: &RawDocumentBuf| {
        let fields = ["op", "ns", "docsExamined", "ninserted", "nModified", "upsert"];
        let operation = Document::try_from(&**raw).unwrap();
        let fields = fields.map(|field| operation.get(field).map(ToString::to_string));
        format!("{:?}", fields.map(Option::unwrap_or_default))
    };
    let operations = found.iter().map(operation).collect();
    profile.drop().await.unwrap();
    operations
}

#[tokio::test]
async fn a_fork_of_ten_thousand_messages_costs_as_much_as_of_a_thousand() {
    let mut costs = Vec::new();
    for messages in [1_000, 10_000] {
        let database = Database::create().await;
        let chat_id = long_chat(&database, messages).await;
        edit(&database, &chat_id, 3, "edited").await;
        let whole = profiled(&database, fork(&database, &chat_id, None)).await;
        let early = profiled(&database, fork(&database, &chat_id, Some(700))).await;
        let are_few = |operations: &[String]| (4..8).contains(&operations.len());
        assert!(are_few(&whole) && are_few(&early), "{whole:#?} {early:#?}");
        costs.push([whole, early].map(|operations| {
            let names = [database.options.database.as_str(), ""];
            operations.iter().map(|text| text.replace(names[0], names[1])).collect::<Vec<_>>()
        }));
        let segments = database.all("chat_segments").await.len();
        let of_fork = fork(&database, &chat_id, None).await;
        let of_fork = fork(&database, &of_fork, Some(900)).await;
        assert_eq!(database.all("chat_segments").await.len(), segments);
        let page = database.messages(&scope(), &of_fork, MessageRange::all()).await.unwrap();
        assert_eq!(page.messages.len(), 900);
    }
    assert_eq!(costs[0], costs[1]);
}

#[tokio::test]
async fn only_edits_of_shared_messages_become_overlays() {
    let database = Database::create().await;
    let chat_id = long_chat(&database, 1_000).await;
    edit(&database, &chat_id, 3, "before").await;
    assert_eq!(database.all("message_versions").await.len(), 0);
    let first = fork(&database, &chat_id, Some(600)).await;
    let segments = database.all("chat_segments").await;
    // Each edit replaces the one before it, because no fork shows it.
    for text in ["one", "two", "three"] {
        edit(&database, &chat_id, 3, text).await;
    }
    assert_eq!(database.all("message_versions").await.len(), 1);
    edit(&database, &first, 3, "in the fork").await;
    assert_eq!(database.all("message_versions").await.len(), 2);
    assert_eq!(database.all("chat_segments").await, segments, "shared segments do not change");
    // The message is not shared, so it is edited in place.
    edit(&database, &chat_id, 600, "in place").await;
    assert_eq!(database.all("message_versions").await.len(), 2);
    // This fork shares the message, so the next edit keeps the shown version.
    let second = fork(&database, &chat_id, Some(10)).await;
    edit(&database, &chat_id, 3, "four").await;
    assert_eq!(database.all("message_versions").await.len(), 3);
    for (id, text) in [(&chat_id, "four"), (&first, "in the fork"), (&second, "three")] {
        let message = database.get_message(&scope(), id, 3).await.unwrap();
        assert_eq!(message.body.content, text);
    }
}

/// A segment of which a fork shares a part is split by an edit in the other part.
#[tokio::test]
async fn a_partly_shared_segment_can_be_split() {
    let database = Database::create().await;
    let chat_id = long_chat(&database, 500).await;
    let forked = fork(&database, &chat_id, Some(7)).await;
    let before = database.messages(&scope(), &forked, MessageRange::all()).await.unwrap();
    for (sequence, text) in [(9, "x"), (8, "y"), (9, "z")] {
        edit(&database, &chat_id, sequence, &text.repeat(1_200_000)).await;
    }
    assert!(database.all("message_versions").await.is_empty());
    assert!(database.all("chat_segments").await.len() > 2);
    let after = database.messages(&scope(), &forked, MessageRange::all()).await.unwrap();
    assert_eq!(after, before);
    edit(&database, &chat_id, 6, "shared").await;
    let after = database.messages(&scope(), &forked, MessageRange::all()).await.unwrap();
    assert_eq!(after, before);
    edit(&database, &forked, 6, "in the fork").await;
    let message = database.get_message(&scope(), &chat_id, 6).await.unwrap();
    assert_eq!(message.body.content, "shared");
}

/// The segment that an interrupted sealing leaves behind belongs to no chat.
#[tokio::test]
async fn a_fork_of_a_chat_with_an_unfinished_sealing_is_complete() {
    for interruption in [Interruption::AfterSegment, Interruption::AfterFirstCut] {
        let database = Database::create_with(|options| {
            options.sealing.is_automatic = false;
            options.sealing.segment_bytes = 3_000;
        })
        .await;
        let chat_id = chat(&database).await;
        database.append(&scope(), &chat_id, numbered("evt", 40)).await.unwrap();
        let app_id = &scope().app_id;
        database.seal(app_id, &chat_id, interruption).await.unwrap();
        edit(&database, &chat_id, 1, "after the segment was made").await;
        let forked = fork(&database, &chat_id, None).await;
        let before = database.messages(&scope(), &chat_id, MessageRange::all()).await.unwrap();
        for id in [&chat_id, &forked] {
            database.seal(app_id, id, Interruption::Never).await.unwrap();
        }
        edit(&database, &chat_id, 2, "in the source").await;
        let after = database.messages(&scope(), &forked, MessageRange::all()).await.unwrap();
        assert_eq!(after, before);
        let chat = database.get_chat(&scope(), &forked).await.unwrap().unwrap();
        assert_eq!(chat.last_sequence, 40);
    }
}

/// The text of a deleted message goes with the last chat that shows it, and each deletion says whether it has gone.
/// Deletions by releases that did not note which chat has the text.
#[tokio::test]
async fn the_end_of_an_upgrade_finds_the_texts_of_earlier_deletions() {
    let database = Database::create_unsealed().await;
    let chat_id = chat(&database).await;
    let said = (0..60).map(|_| MessageBody::new("user", None, "secret-end").into());
    database.append(&scope(), &chat_id, said.collect()).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let other = fork(&database, &chat_id, None).await;
    let versions = database.raw.collection::<RawDocumentBuf>("message_versions");
    for chat_id in [&chat_id, &other] {
        database.delete_message(&scope(), chat_id, 0).await.unwrap();
        let forget = doc! { "$unset": { "text_kept_in": "", "text_check_at": "" } };
        versions.update_many(doc! {}, forget).await.unwrap();
    }
    let text = async || {
        let segments = database.all("chat_segments").await;
        let first = segments[0].get_array("messages").unwrap().get_document(0).unwrap();
        first.get_str("content").ok().map(str::to_owned)
    };
    // The second deletion found both, so the text is put back.
    let put_back = doc! {
        "$set": { "messages.0.content": "secret-end" }, "$unset": { "messages.0.deleted_at": "" },
    };
    let segments = database.raw.collection::<RawDocumentBuf>("chat_segments");
    segments.update_one(doc! { "_id.first_sequence": 0_i64 }, put_back).await.unwrap();
    assert_eq!(database.remove_deleted_texts(10).await.unwrap(), 0, "nothing is noted");
    assert_eq!(text().await.as_deref(), Some("secret-end"));
    let format = database.raw.collection::<RawDocumentBuf>("store_format");
    format.update_one(doc! {}, doc! { "$set": { "format": 3_i64 } }).await.unwrap();
    let upgrading = MongoStore::connect(&database.options).await.unwrap();
    upgrading.finish_upgrade().await.unwrap();
    assert!(database.remove_deleted_texts(10).await.unwrap() > 0);
    assert_eq!(text().await, None);
    for chat_id in [&chat_id, &other] {
        assert!(!database.get_message(&scope(), chat_id, 0).await.unwrap().is_text_kept);
    }
}

#[tokio::test]
async fn the_text_of_a_shared_message_goes_when_the_last_chat_deletes_it() {
    let database = Database::create_unsealed().await;
    let chat_id = chat(&database).await;
    let text = |n: u64| format!("secret-{n}-end");
    for n in 0..4 {
        let body = MessageBody::new("user", Some("user"), text(n));
        database.append(&scope(), &chat_id, vec![body.into()]).await.unwrap();
    }
    let filler = (0..60).map(|n| MessageBody::new("user", None, format!("filler {n}")).into());
    database.append(&scope(), &chat_id, filler.collect()).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let first = fork(&database, &chat_id, None).await;
    edit(&database, &first, 1, "secret-1-end in the fork").await;
    let second = fork(&database, &first, None).await;
    let delete = async |chat_id: &ChatId, sequence: u64| {
        let deleted = database.delete_message(&scope(), chat_id, sequence).await.unwrap();
        let read = database.get_message(&scope(), chat_id, sequence).await.unwrap();
        assert_eq!(read, deleted);
        deleted.is_text_kept
    };
    for n in [0, 1] {
        assert!(delete(&chat_id, n).await && delete(&second, n).await);
        let shown = database.get_message(&scope(), &first, n).await.unwrap();
        assert!(shown.body.content.as_str().unwrap().starts_with(&text(n)));
        assert!(!holding(&database, &text(n)).await.is_empty());
        assert!(!delete(&first, n).await);
        assert_eq!(holding(&database, &text(n)).await, BTreeMap::new());
        for chat_id in [&chat_id, &first, &second] {
            let message = database.get_message(&scope(), chat_id, n).await.unwrap();
            assert!(message.deleted_at.is_some() && !message.is_text_kept);
        }
    }
    // Only one chat deletes it; the others are purged.
    assert!(delete(&second, 2).await);
    assert!(database.remove_deleted_texts(10).await.unwrap() > 0);
    assert_eq!(database.remove_deleted_texts(10).await.unwrap(), 0, "nothing has changed");
    let actor = Actor::command_line();
    for purged in [&chat_id, &first] {
        assert!(!holding(&database, &text(2)).await.is_empty());
        assert!(database.purge_chat(&actor, &scope(), purged, None).await.unwrap());
        assert!(database.remove_deleted_texts(10).await.unwrap() > 0);
    }
    assert_eq!(holding(&database, &text(2)).await, BTreeMap::new());
    let shown = database.get_message(&scope(), &second, 3).await.unwrap();
    assert_eq!(shown.body.content, text(3), "what is not deleted stays");
    assert!(!database.get_message(&scope(), &second, 2).await.unwrap().is_text_kept);
}
