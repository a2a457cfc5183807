//! Streams that two processes write.

use std::time::Duration;

use local_mongod::Source;
use persistence::mongo::MongoStore;
use persistence::{Messages, Purges, StoreError, StreamRefusal, Streams};
use records::{
    Actor, ChatId, NewStream, NewTurn, Stream, StreamEnding, StreamFormat, StreamHeader, StreamId,
    StreamState, TurnId, TurnMessage, TurnOutcome,
};

use super::database::Database;
use super::faults::{chat, database_behind_proxy, message, scope};

fn stream_id(id: &str) -> StreamId {
    StreamId::parse(id).unwrap()
}

async fn start(store: &MongoStore, chat_id: &ChatId, id: &str) -> Result<(), StoreError> {
    let header = StreamHeader { format: StreamFormat::Text, agent: None, request_id: None };
    let stream = NewStream { stream_id: Some(stream_id(id)), header };
    store.start_stream(&scope(), chat_id, stream).await.map(drop)
}

fn answer(request_id: &str) -> NewTurn {
    let mut body = message(None).remove(0).body;
    "assistant".clone_into(&mut body.role);
    NewTurn {
        request_id: TurnId::parse(request_id).unwrap(),
        outcome: TurnOutcome::Completed,
        messages: vec![TurnMessage { body, author: None }],
        steps: Vec::new(),
        connector: None,
        mode: None,
    }
}

async fn append(
    store: &MongoStore,
    chat_id: &ChatId,
    from: u64,
    text: &str,
) -> Result<u64, StoreError> {
    let chunks = vec![text.to_owned()];
    let appended = store.append_chunks(&scope(), chat_id, &stream_id("s"), from, chunks).await;
    appended.map(|progress| progress.next)
}

/// A number that another process has removed is free again. A writer that knows the stream from before must not take it.
#[tokio::test]
async fn nothing_is_added_to_a_stream_that_another_process_has_removed() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    for is_purged in [false, true] {
        let chat_id = chat(&database).await;
        start(&database, &chat_id, "s").await.unwrap();
        assert_eq!(append(&database, &chat_id, 0, "a").await.unwrap(), 1);
        if is_purged {
            other.purge_chat(&Actor::command_line(), &scope(), &chat_id, None).await.unwrap();
        } else {
            let ending = StreamEnding::of(StreamState::Finished);
            let (at, turn) = (&stream_id("s"), answer("s"));
            other.end_stream(&scope(), &chat_id, at, ending, Some(turn)).await.unwrap();
            other.delete_message(&scope(), &chat_id, 0).await.unwrap();
        }
        assert_eq!(database.all("stream_groups").await, []);
        let late = append(&database, &chat_id, 1, "b").await;
        assert!(late.is_err(), "{late:?}");
        assert_eq!(database.all("stream_groups").await, [], "{is_purged}");
    }
}

#[tokio::test]
async fn starts_at_two_processes_keep_the_limit() {
    let database = Database::create().await;
    let other = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    let starts = (0..2 * Stream::MAX_RUNNING).map(|number| {
        let store = if number % 2 == 0 { &database.store } else { &other };
        let chat_id = &chat_id;
        async move { start(store, chat_id, &format!("s{number}")).await }
    });
    let started = futures::future::join_all(starts).await;
    let refused = started.iter().filter_map(|it| it.as_ref().err());
    for refusal in refused {
        let is_full =
            matches!(refusal, StoreError::StreamRefused { reason: StreamRefusal::TooMany, .. });
        assert!(is_full, "{refusal:?}");
    }
    assert_eq!(started.iter().filter(|it| it.is_ok()).count(), Stream::MAX_RUNNING);
    assert_eq!(database.all("streams").await.len(), Stream::MAX_RUNNING);
}

/// The insert is sent, and its reply never comes.
#[tokio::test]
async fn chunks_that_may_be_stored_have_an_unknown_outcome() {
    let (_server, proxy, database) = database_behind_proxy().await;
    let chat_id = chat(&database).await;
    let mut options = database.options.clone();
    (options.uri, options.deadline) = (proxy.uri().into(), Duration::from_secs(2));
    let impatient = MongoStore::connect(&options).await.unwrap();
    start(&impatient, &chat_id, "s").await.unwrap();
    append(&impatient, &chat_id, 0, "a").await.unwrap();
    proxy.silence(Source::Everyone);
    let unknown = append(&impatient, &chat_id, 1, "b").await;
    proxy.speak();
    assert!(matches!(unknown, Err(StoreError::OutcomeUnknown { .. })), "{unknown:?}");
}
