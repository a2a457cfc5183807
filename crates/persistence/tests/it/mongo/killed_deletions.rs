//! A process that is killed between the deletion of a message and the removal of its text.

use bson::{RawDocumentBuf, doc};
use persistence::mongo::Interruption;
use persistence::{Forks, Messages, Purges};
use records::{MessageBody, NewFork};

use super::faults::{FailPoint, Process, chat, database, scope};
use crate::waiting::until;

#[tokio::test]
async fn a_text_whose_removal_was_cut_off_is_removed_by_the_sweep() {
    let (server, database) = database().await;
    let chat_id = chat(&database).await;
    let said = (0..60).map(|_| MessageBody::new("user", None, "secret-end").into());
    database.append(&scope(), &chat_id, said.collect()).await.unwrap();
    database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    let fork = database.fork_chat(&scope(), &chat_id, NewFork::default()).await.unwrap().chat_id;
    assert!(database.delete_message(&scope(), &chat_id, 0).await.unwrap().is_text_kept);

    // The removal is the only update of a segment.
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let refuse = doc! {
        "failCommands": ["update"],
        "namespace": format!("{}.chat_segments", database.raw.name()),
        "appName": "under-test",
        "closeConnection": true,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1_000_000 }, refuse).await;
    let shared = fork.clone();
    let process = Process::start(&database, async move |store| {
        store.delete_message(&scope(), &shared, 0).await.unwrap();
    });
    let versions = database.raw.collection::<RawDocumentBuf>("message_versions");
    let deleted = doc! { "_id.chat_id": fork.as_str(), "message.deleted_at": { "$type": "date" } };
    let is_deleted = async || versions.find_one(deleted.clone()).await.unwrap().is_some();
    until("the deletion", is_deleted).await;
    process.kill();
    point.off().await;

    let text = async || {
        let segments = database.all("chat_segments").await;
        let first = segments[0].get_array("messages").unwrap().get_document(0).unwrap();
        first.get_str("content").ok().map(str::to_owned)
    };
    assert_eq!(text().await.as_deref(), Some("secret-end"));
    for chat_id in [&chat_id, &fork] {
        assert!(database.get_message(&scope(), chat_id, 0).await.unwrap().is_text_kept);
    }
    assert!(database.remove_deleted_texts(10).await.unwrap() > 0);
    assert_eq!(text().await, None);
    for chat_id in [&chat_id, &fork] {
        let message = database.get_message(&scope(), chat_id, 0).await.unwrap();
        assert!(message.deleted_at.is_some() && !message.is_text_kept);
    }
}
