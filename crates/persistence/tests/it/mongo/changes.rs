//! Notifications of changes by other stores, also when the change stream fails.

use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::StreamExt;
use futures::stream::BoxStream;
use local_mongod::LocalMongod;
use persistence::mongo::{MongoOptions, MongoStore};
use persistence::{
    Artifacts, Billing, Calls, Change, Changes, ChatChange, ChatSessions, Contexts, Exchanges,
    Messages,
};
use records::{
    ChatId, ChatStatus, JsonObject, MessageBody, MessageEdit, NewArtifact, NewMessage,
    NewProviderCall,
};
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use super::database::Database;
use super::faults::{self, FailPoint, chat, message, numbered, scope};

const MAX_WAIT: Duration = Duration::from_secs(30);

/// A separate server, a store that listens to it, and another store that makes the changes.
struct TwoStores {
    listener: Database,
    writer: MongoStore,
    changes: BoxStream<'static, Change>,
    chat_id: ChatId,
    appended: u64,
    /// Declared last, because it must be dropped last.
    server: LocalMongod,
}

impl TwoStores {
    async fn set() -> Self {
        let (server, listener) = faults::database().await;
        let mut options =
            MongoOptions { app_name: "writer".to_owned(), ..listener.options.clone() };
        // The writer never seals, because sealing would read the messages again.
        (options.sealing.is_automatic, options.sealing.hard_bytes) = (false, 16 << 20);
        let writer = MongoStore::connect(&options).await.unwrap();
        let chat_id = chat(&listener).await;
        let mut changes = listener.changes();
        until(&mut changes, |change| *change == Change::Began).await;
        Self { listener, writer, changes, chat_id, appended: 0, server }
    }

    /// Appends a message through the other store, and waits for the notification.
    async fn receive_an_append(&mut self) {
        self.append().await;
        until(&mut self.changes, is_append_of(&self.chat_id, self.appended)).await;
    }

    async fn append(&mut self) {
        self.writer.append(&scope(), &self.chat_id, message(None)).await.unwrap();
        self.appended += 1;
    }

    async fn receive_lost_and_began(&mut self) {
        until(&mut self.changes, |change| *change == Change::Lost).await;
        until(&mut self.changes, |change| *change == Change::Began).await;
    }

    /// Makes commands of the listener fail.
    async fn fail(&self, mode: Document, data: Document) -> FailPoint<'static> {
        let client = mongodb::Client::with_uri_str(self.server.uri()).await.unwrap();
        let mut on_listener = doc! { "appName": "under-test" };
        on_listener.extend(data);
        FailPoint::set(&client, "failCommand", mode, on_listener).await
    }
}

/// The server may replace a small document as a whole, and then does not report the changed fields.
fn is_append_of(chat_id: &ChatId, counter: u64) -> impl Fn(&Change) -> bool {
    move |change| match change {
        Change::Chat(change) if change.chat_id == *chat_id => {
            change.last_sequence.is_none_or(|last_sequence| last_sequence == counter)
        }
        _ => false,
    }
}

async fn until(changes: &mut BoxStream<'static, Change>, is_it: impl Fn(&Change) -> bool) {
    loop {
        let change =
            timeout(MAX_WAIT, changes.next()).await.expect("a notification arrives").unwrap();
        if is_it(&change) {
            return;
        }
    }
}

#[tokio::test]
async fn changes_of_another_store_are_notified() {
    let mut stores = TwoStores::set().await;
    for _ in 0..3 {
        stores.receive_an_append().await;
    }
    let TwoStores { writer, changes, chat_id, .. } = &mut stores;
    let more = ChatChange { chat_id: chat_id.clone(), last_sequence: None };
    let more = |change: &Change| *change == Change::Chat(more.clone());
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    writer.update_message(&scope(), chat_id, 1, edit).await.unwrap();
    until(changes, more).await;
    writer.delete_message(&scope(), chat_id, 1).await.unwrap();
    until(changes, more).await;
    writer.merge_context_snapshot(&scope(), chat_id, JsonObject::new()).await.unwrap();
    until(changes, more).await;
    writer.update_last_artifact(&scope(), chat_id, NewArtifact::default()).await.unwrap();
    until(changes, more).await;
    writer.clear_last_artifact(&scope(), chat_id).await.unwrap();
    until(changes, more).await;
    writer.set_status(&scope(), chat_id, ChatStatus::Completed, None).await.unwrap();
    until(changes, more).await;
    let used = |change: &Change| *change == Change::Usage(chat_id.clone());
    let calls = vec![NewProviderCall::default()];
    let recorded = writer.record_calls(&scope(), chat_id, calls, Billing::Free).await.unwrap();
    until(changes, used).await;
    writer.delete_call(&scope(), chat_id, &recorded.calls[0].call.call_id).await.unwrap();
    until(changes, used).await;
}

/// From the first message, where the server replaces the whole document, to groups of many messages.
#[tokio::test]
async fn appends_of_every_size_are_notified() {
    let mut stores = TwoStores::set().await;
    let TwoStores { writer, changes, listener, .. } = &mut stores;
    for count in [1, 2, 40, 500, 1] {
        let chat_id = chat(listener).await;
        writer.append(&scope(), &chat_id, numbered("m", count)).await.unwrap();
        until(changes, is_append_of(&chat_id, count as u64)).await;
    }
}

#[tokio::test]
async fn notifications_contain_no_messages() {
    let mut stores = TwoStores::set().await;
    let client = mongodb::Client::with_uri_str(stores.server.uri()).await.unwrap();
    let admin = client.database("admin");
    let sent = || async {
        let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
        let network = status.get_document("network").unwrap().clone();
        network.get_i64("bytesOut").unwrap()
    };
    let megabyte = MessageBody::new("user", Some("user"), "x".repeat(900_000));
    stores.receive_an_append().await;
    let before = sent().await;
    for _ in 0..10 {
        let large = NewMessage::from(megabyte.clone());
        stores.writer.append(&scope(), &stores.chat_id, vec![large]).await.unwrap();
        stores.appended += 1;
    }
    stores.receive_an_append().await;
    let sent = sent().await - before;
    assert!(sent < 900_000, "the server sent {sent} bytes");
}

#[tokio::test]
async fn a_change_stream_with_an_expired_token_starts_again() {
    for code in [286, 136, 280, 10_334] {
        let mut stores = TwoStores::set().await;
        stores.receive_an_append().await;
        let error = doc! { "failCommands": ["getMore"], "errorCode": code };
        let fail_point = stores.fail(doc! { "times": 1 }, error).await;
        stores.append().await;
        stores.receive_lost_and_began().await;
        assert_eq!(fail_point.off().await, 1, "{code}");
        stores.receive_an_append().await;
    }
}

#[tokio::test]
async fn a_repeatedly_failing_change_stream_is_opened_again() {
    let mut stores = TwoStores::set().await;
    let error = doc! { "failCommands": ["getMore", "aggregate"], "closeConnection": true };
    let fail_point = stores.fail(doc! { "times": 6 }, error).await;
    stores.append().await;
    stores.receive_lost_and_began().await;
    assert!(fail_point.off().await >= 3);
    stores.receive_an_append().await;
}

#[tokio::test]
async fn a_killed_cursor_misses_no_change() {
    let mut stores = TwoStores::set().await;
    stores.receive_an_append().await;
    for _ in 0..3 {
        kill_cursors(&stores.listener).await;
        stores.receive_an_append().await;
    }
}

/// Kills every cursor on the whole database.
async fn kill_cursors(database: &Database) {
    let uri = database.options.uri.expose_secret();
    let admin = mongodb::Client::with_uri_str(uri).await.unwrap().database("admin");
    let open = admin.aggregate([
        doc! { "$currentOp": { "idleCursors": true, "allUsers": true } },
        doc! { "$match": { "cursor.cursorId": { "$exists": true }, "ns": { "$regex": "\\$cmd.aggregate$" } } },
        doc! { "$project": { "_id": 0, "cursor": "$cursor.cursorId" } },
    ]);
    let open: Vec<_> = open.with_type::<RawDocumentBuf>().await.unwrap().collect().await;
    assert!(!open.is_empty());
    for cursor in open {
        let cursor = Bson::Int64(cursor.unwrap().get_i64("cursor").unwrap());
        let kill = doc! { "killCursors": "$cmd.aggregate", "cursors": [cursor] };
        database.raw.run_command(kill).await.unwrap();
    }
}

#[tokio::test]
async fn a_dropped_collection_is_watched_again() {
    let mut stores = TwoStores::set().await;
    stores.receive_an_append().await;
    let sessions = stores.listener.raw.collection::<RawDocumentBuf>("chat_sessions");
    let kept = sessions.find_one(doc! {}).await.unwrap().unwrap();
    sessions.drop().await.unwrap();
    stores.receive_lost_and_began().await;
    sessions.insert_one(kept).await.unwrap();
    stores.receive_an_append().await;
}

#[tokio::test]
async fn a_restarted_server_is_watched_again() {
    let mut stores = TwoStores::set().await;
    stores.receive_an_append().await;
    stores.server.kill_hard().await.unwrap();
    stores.server.restart().await.unwrap();
    stores.receive_an_append().await;
}

#[tokio::test]
async fn a_server_without_change_streams_is_detected() {
    let stores = TwoStores::set().await;
    assert!(stores.listener.delivers_changes());
    let error = doc! { "failCommands": ["aggregate"], "errorCode": 40_573 };
    let fail_point = stores.fail(doc! { "times": 1_000 }, error).await;
    let mut changes = stores.listener.changes();
    while stores.listener.delivers_changes() {
        let told = timeout(Duration::from_millis(10), changes.next()).await;
        assert!(told.is_err(), "{told:?}");
    }
    stores.listener.append(&scope(), &stores.chat_id, message(None)).await.unwrap();
    until(&mut changes, |change| matches!(change, Change::Chat(_))).await;
    fail_point.off().await;
}
