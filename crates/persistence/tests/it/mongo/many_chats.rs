//! Concurrent appends to many chats share commands, and each gets a separate answer.

use std::collections::HashMap;

use bson::doc;
use futures::future::{join_all, try_join_all};
use persistence::mongo::MongoStore;
use persistence::{ChatSessions, MessageRange, Messages, Outcome, StoreError};
use records::{ChatId, ChatStatus};

use super::database::Database;
use super::faults::{chat, database, database_behind_proxy, message, scope};

/// More chats than there are concurrent commands.
const CHATS: usize = 24;

async fn chats(database: &Database) -> Vec<ChatId> {
    join_all((0..CHATS).map(|_| chat(database))).await
}

/// Appends messages with the ids `{writer}_0`, `{writer}_1` and so on, one at a time.
async fn write(
    store: &MongoStore,
    chat_id: &ChatId,
    writer: &str,
    count: usize,
) -> Result<Vec<(String, u64, Outcome)>, StoreError> {
    let mut given = Vec::new();
    for index in 0..count {
        let event_id = format!("{writer}_{index}");
        let append = store.append(&scope(), chat_id, message(Some(&event_id))).await?;
        given.push((event_id, append.messages[0].sequence, append.messages[0].outcome));
    }
    Ok(given)
}

/// Returns the ids that a chat holds, each with its sequence.
async fn stored(database: &Database, chat_id: &ChatId) -> HashMap<String, u64> {
    let page = database.messages(&scope(), chat_id, MessageRange::all()).await.unwrap();
    let count = page.messages.len();
    assert_eq!(page.last_sequence, count as u64);
    let messages = page.messages.into_iter();
    let stored: HashMap<_, _> =
        messages.map(|message| (message.event_id.to_string(), message.sequence)).collect();
    assert_eq!(stored.len(), count, "a duplicate id is stored");
    stored
}

/// Returns how many `update` commands the server has executed, and how many updates.
async fn updates(database: &Database) -> (i64, i64) {
    let status = database.raw.run_command(doc! { "serverStatus": 1 }).await.unwrap();
    let commands = status.get_document("metrics").unwrap().get_document("commands").unwrap();
    let commands = commands.get_document("update").unwrap().get_i64("total").unwrap();
    let updates = status.get_document("opcounters").unwrap().get("update").unwrap();
    (commands, updates.as_i64().or_else(|| updates.as_i32().map(i64::from)).unwrap())
}

#[tokio::test]
async fn appends_to_many_chats_share_commands() {
    let (_server, database) = database().await;
    let chats = chats(&database).await;
    let before = updates(&database).await;
    let writers = chats.iter().map(|chat_id| write(&database, chat_id, "evt", 30));
    let given = try_join_all(writers).await.unwrap();
    let after = updates(&database).await;
    let (commands, updates) = (after.0 - before.0, after.1 - before.1);
    assert!(updates > commands, "{updates} updates came in {commands} commands");
    for (chat_id, given) in chats.iter().zip(given) {
        let stored = stored(&database, chat_id).await;
        assert_eq!(stored.len(), given.len());
        for (index, (event_id, sequence, outcome)) in given.into_iter().enumerate() {
            assert_eq!((sequence, outcome), (index as u64, Outcome::Stored));
            assert_eq!(stored[&event_id], sequence);
        }
    }
}

/// Two processes append to the same chats and send the same ids. Therefore the counter that one of
/// them expects is often outdated.
#[tokio::test]
async fn an_unmatched_update_does_not_affect_others_in_its_command() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    let chats = chats(&database).await;
    let writers = chats.iter().flat_map(|chat_id| {
        let ours = [write(&database, chat_id, "both", 20), write(&database, chat_id, "a", 20)];
        let theirs = [write(&other, chat_id, "both", 20), write(&other, chat_id, "b", 20)];
        ours.into_iter().chain(theirs)
    });
    let given = try_join_all(writers).await.unwrap();
    for (chat_id, given) in chats.iter().zip(given.chunks(4)) {
        let stored = stored(&database, chat_id).await;
        assert_eq!(stored.len(), 60);
        let mut first = HashMap::new();
        for (event_id, sequence, outcome) in given.iter().flatten() {
            assert_eq!(stored[event_id], *sequence);
            *first.entry(event_id).or_insert(false) |= *outcome == Outcome::Stored;
        }
        assert!(
            first.values().all(|is_told| *is_told),
            "one of the callers must be told that it stored the message"
        );
    }
}

/// Another process has appended to one of the chats, so its update does not match. The updates of
/// the other chats are in the same command.
#[tokio::test]
async fn one_query_resolves_all_updates_of_a_command() {
    let database = Database::create().await;
    let chats = chats(&database).await;
    // Two appends, so that the next one knows the expected counter.
    for chat_id in &chats {
        write(&database, chat_id, "before", 2).await.unwrap();
    }
    let other = MongoStore::connect(&database.options).await.unwrap();
    write(&other, &chats[CHATS - 1], "other", 1).await.unwrap();
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    let writers = chats.iter().map(|chat_id| write(&database, chat_id, "after", 1));
    let given = try_join_all(writers).await.unwrap();
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    for (index, given) in given.iter().enumerate() {
        let sequence = if index == CHATS - 1 { 3 } else { 2 };
        assert_eq!((given[0].1, given[0].2), (sequence, Outcome::Stored), "chat {index}");
    }
    let profile = database.raw.collection::<bson::RawDocumentBuf>("system.profile");
    let looks = doc! { "command.find": "chat_sessions" };
    let looks = profile.count_documents(looks).await.unwrap();
    assert!((1..=3).contains(&looks), "{looks} queries for one unmatched update");
}

#[tokio::test]
async fn an_ended_chat_does_not_affect_others_in_its_command() {
    let database = Database::create().await;
    let chats = chats(&database).await;
    let writers = chats.iter().map(|chat_id| write(&database, chat_id, "before", 4));
    try_join_all(writers).await.unwrap();
    let (ended, going_on) = chats.split_at(CHATS / 3);
    let other = MongoStore::connect(&database.options).await.unwrap();
    for chat_id in ended {
        let status = ChatStatus::Completed;
        other.set_status(&scope(), chat_id, status, None).await.unwrap();
    }
    let writers = chats.iter().map(|chat_id| write(&database, chat_id, "after", 4));
    for (chat_id, outcome) in chats.iter().zip(join_all(writers).await) {
        if going_on.contains(chat_id) {
            let given = outcome.unwrap();
            assert!(given.iter().all(|(_, _, outcome)| *outcome == Outcome::Stored));
        } else {
            assert!(matches!(outcome, Err(StoreError::ChatEnded { .. })), "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_lost_shared_acknowledgement_stores_every_message_once() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chats = chats(&database).await;
    proxy.lose_replies("update", 3);
    let writers = chats.iter().map(|chat_id| write(&database, chat_id, "evt", 20));
    let given = try_join_all(writers).await.unwrap();
    assert_eq!(proxy.lost(), 3);
    for (chat_id, given) in chats.iter().zip(given) {
        let stored = stored(&database, chat_id).await;
        assert_eq!(stored.len(), 20);
        assert!(given.iter().all(|(event_id, sequence, _)| stored[event_id] == *sequence));
    }
}
