//! Notifications of changes by other stores, also when the change stream fails.

use std::time::Duration;

use bson::{Bson, Document, RawDocumentBuf, doc};
use futures::StreamExt;
use futures::stream::BoxStream;
use local_mongod::LocalMongod;
use persistence::mongo::MongoStore;
use persistence::{
    Artifacts, Billing, Calls, Change, Changes, ChatChange, ChatSessions, Contexts, Exchanges,
    Interest, MessageRange, Messages, Presence as _,
};
use records::{
    ChatId, ChatStatus, JsonObject, MessageBody, MessageEdit, NewArtifact, NewMessage,
    NewProviderCall,
};
use secrecy::ExposeSecret as _;
use tokio::time::timeout;

use super::database::Database;
use super::faults::{self, FailPoint, chat, message, numbered, scope};
use super::presence::connection;

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
        let mut options = listener.options.clone();
        "writer".clone_into(&mut options.app_name);
        // The writer never seals, because sealing would read the messages again.
        (options.sealing.is_automatic, options.sealing.hard_bytes) = (false, 16 << 20);
        let writer = MongoStore::connect(&options).await.unwrap();
        let chat_id = chat(&listener).await;
        let mut changes = listener.changes(Interest::in_all_chats());
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
    let more = ChatChange { chat_id: chat_id.clone(), last_sequence: None, appended: [].into() };
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

/// A listener that lists chats, at the same server.
struct Listener {
    interest: Interest,
    changes: BoxStream<'static, Change>,
}

impl Listener {
    async fn of(stores: &TwoStores, chat_id: &ChatId) -> Self {
        let interest = Interest::in_listed_chats();
        interest.add(chat_id);
        let mut changes = stores.listener.changes(interest.clone());
        until(&mut changes, |change| *change == Change::Began).await;
        Self { interest, changes }
    }

    /// Returns the changes until one matches.
    async fn until(&mut self, is_it: impl Fn(&Change) -> bool) -> Vec<Change> {
        let mut told = Vec::new();
        while !told.last().is_some_and(&is_it) {
            let next = timeout(MAX_WAIT, self.changes.next()).await;
            told.push(next.expect("a notification arrives").unwrap());
        }
        told
    }
}

fn is_of(chat_id: &ChatId, change: &Change) -> bool {
    match change {
        Change::Chat(change) => change.chat_id == *chat_id,
        Change::Stream(change) => change.chat_id == *chat_id,
        Change::Listed(of) | Change::Presence(of) | Change::Usage(of) => of == chat_id,
        Change::Began | Change::Lost => false,
    }
}

#[tokio::test]
async fn a_listener_hears_only_of_the_chats_that_it_lists() {
    let stores = TwoStores::set().await;
    let (listed, other) = (&stores.chat_id, chat(&stores.listener).await);
    let mut listener = Listener::of(&stores, listed).await;
    for chat_id in [&other, listed] {
        let TwoStores { writer, .. } = &stores;
        writer.append(&scope(), chat_id, numbered("m", 3)).await.unwrap();
        writer.set_status(&scope(), chat_id, ChatStatus::Paused, None).await.unwrap();
        let calls = vec![NewProviderCall::default()];
        writer.record_calls(&scope(), chat_id, calls, Billing::Free).await.unwrap();
        writer.announce(&scope(), &[connection(chat_id, "ada")], MAX_WAIT).await.unwrap();
    }
    let is_presence = |change: &Change| *change == Change::Presence(listed.clone());
    let told = listener.until(is_presence).await;
    assert!(told.iter().all(|change| is_of(listed, change)), "{told:?}");
    assert!(told.contains(&Change::Usage(listed.clone())), "{told:?}");
}

#[tokio::test]
async fn a_chat_that_is_listed_later_is_heard_of_from_then_on() {
    let mut stores = TwoStores::set().await;
    let later = chat(&stores.listener).await;
    let mut listener = Listener::of(&stores, &stores.chat_id).await;
    stores.writer.append(&scope(), &later, numbered("m", 2)).await.unwrap();
    listener.interest.add(&later);
    let told = listener.until(|change| *change == Change::Listed(later.clone())).await;
    assert!(!told.contains(&Change::Lost), "{told:?}");
    stores.writer.append(&scope(), &later, numbered("n", 2)).await.unwrap();
    listener.until(is_append_of(&later, 4)).await;
    // The one that was listed before is heard of still, and all of the time.
    for _ in 0..20 {
        stores.append().await;
        listener.interest.add(&chat(&stores.listener).await);
    }
    let TwoStores { chat_id, appended, .. } = &stores;
    let told = listener.until(is_append_of(chat_id, *appended)).await;
    assert!(!told.contains(&Change::Lost), "{told:?}");
    let count = told.iter().filter(|change| is_append_of(chat_id, 0)(change)).count();
    let counters = (1..=*appended)
        .filter(|counter| told.iter().any(|change| is_append_of(chat_id, *counter)(change)));
    assert_eq!(counters.count() as u64, *appended, "{count} of them: {told:?}");
}

/// Of the first append the server says only that it has replaced the document.
#[tokio::test]
async fn small_appends_to_listed_chats_are_told_with_their_messages() {
    let stores = TwoStores::set().await;
    let mut listener = Listener::of(&stores, &stores.chat_id).await;
    let TwoStores { writer, chat_id, .. } = &stores;
    writer.append(&scope(), chat_id, numbered("filler", 20)).await.unwrap();
    listener.until(is_append_of(chat_id, 20)).await;
    writer.append(&scope(), chat_id, numbered("m", 12)).await.unwrap();
    let told = listener.until(is_append_of(chat_id, 32)).await;
    let Some(Change::Chat(change)) = told.last() else { panic!("{told:?}") };
    let range = MessageRange::Oldest { after: Some(19), before: None, limit: 100 };
    let read = stores.listener.messages(&scope(), chat_id, range).await.unwrap();
    assert_eq!(change.appended[..], read.messages);

    let large = MessageBody::new("user", Some("user"), "x".repeat(10_000));
    writer.append(&scope(), chat_id, vec![large.into()]).await.unwrap();
    let told = listener.until(is_append_of(chat_id, 33)).await;
    let Some(Change::Chat(change)) = told.last() else { panic!("{told:?}") };
    assert_eq!(change.appended[..], []);
    let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
    writer.update_message(&scope(), chat_id, 30, edit).await.unwrap();
    let told = listener.until(|change| is_of(chat_id, change)).await;
    let Some(Change::Chat(change)) = told.last() else { panic!("{told:?}") };
    assert_eq!((change.last_sequence, &change.appended[..]), (None, &[][..]));
}

#[tokio::test]
async fn a_listener_of_no_chat_hears_of_what_its_own_store_writes() {
    let stores = TwoStores::set().await;
    let mut changes = stores.listener.changes(Interest::in_listed_chats());
    stores.writer.append(&scope(), &stores.chat_id, numbered("m", 1)).await.unwrap();
    stores.listener.append(&scope(), &stores.chat_id, numbered("n", 1)).await.unwrap();
    let next = timeout(MAX_WAIT, changes.next()).await.unwrap().unwrap();
    assert!(is_append_of(&stores.chat_id, 2)(&next), "{next:?}");
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
    let mut changes = stores.listener.changes(Interest::in_all_chats());
    while stores.listener.delivers_changes() {
        let told = timeout(Duration::from_millis(10), changes.next()).await;
        assert!(told.is_err(), "{told:?}");
    }
    stores.listener.append(&scope(), &stores.chat_id, message(None)).await.unwrap();
    until(&mut changes, |change| matches!(change, Change::Chat(_))).await;
    fail_point.off().await;
}
