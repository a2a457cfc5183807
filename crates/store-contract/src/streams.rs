//! Streams: chunks in order and once, takeovers, cancellations, and ends together with a turn.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt as _;
use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    ChatStatus, Lease, Lifecycle, Message, MessageEdit, NewLease, NewStream, NewTurn, Owner, Scope,
    SessionChange, SizeLimit, Stream, StreamContent, StreamEnding, StreamEvent, StreamFormat,
    StreamGroup, StreamHeader, StreamId, StreamState, TurnId, TurnMessage, TurnOutcome,
};
use serde_json::json;

use super::fixture::{TestChat, assert_invalid, assert_refused, contents, message, race};
use persistence::{
    Change, EndedStream, Interest, MessageRange, Outcome, Store, StoreError, StreamProgress,
    StreamRefusal, Takeover,
};

pub async fn chunks_are_stored_in_order_and_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let stream = start(&chat, "s1").await;
    assert_eq!((stream.mark.next, stream.mark.state), (0, StreamState::Running));
    assert_eq!(append(&chat, "s1", 0, &["a", "b"]).await.unwrap(), at(2));
    assert_eq!(append(&chat, "s1", 2, &["c"]).await.unwrap(), at(3));
    // Repeats, alone and with something new behind them.
    assert_eq!(append(&chat, "s1", 0, &["a", "b"]).await.unwrap(), at(3));
    assert_eq!(append(&chat, "s1", 1, &["b", "c", "d"]).await.unwrap(), at(4));
    let gap = StreamRefusal::Gap { next: 4 };
    assert_stream_refused(append(&chat, "s1", 5, &["f"]).await, "s1", gap);
    assert_eq!(append(&chat, "s1", 4, &[]).await.unwrap(), at(4));
    assert_eq!(all_chunks(&chat, "s1").await, ["a", "b", "c", "d"]);
    let numbers: Vec<_> = groups(&chat, "s1").await.iter().map(|it| it.mark.number).collect();
    assert_eq!(numbers, [0, 1, 2, 3, 4]);
    let listed = chat.store.list_streams(&chat.scope, &chat.id).await.unwrap();
    assert_eq!((listed.len(), listed[0].mark.next, listed[0].mark.bytes), (1, 4, 4));
    let found = store.get_stream(&chat.scope, &chat.id, &stream_id("s1")).await.unwrap();
    assert_eq!(found, listed[0]);
    let unknown = store.get_stream(&chat.scope, &chat.id, &stream_id("s2")).await;
    assert_refused(unknown, &StoreError::StreamNotFound(stream_id("s2")));
}

pub async fn a_stream_is_started_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = chat.store.start_stream(&chat.scope, &chat.id, new("s1")).await.unwrap();
    assert_eq!(first.outcome, Outcome::Stored);
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    let again = chat.store.start_stream(&chat.scope, &chat.id, new("s1")).await.unwrap();
    assert_eq!((again.outcome, again.mark.next), (Outcome::Duplicate, 1));
    let mut other = new("s1");
    other.header.agent = Some("other".to_owned());
    let refused = chat.store.start_stream(&chat.scope, &chat.id, other).await;
    assert_stream_refused(refused, "s1", StreamRefusal::Exists);
    let unnamed = NewStream { stream_id: None, ..new("s1") };
    let minted = chat.store.start_stream(&chat.scope, &chat.id, unnamed).await.unwrap();
    assert!(minted.stream_id.as_str().starts_with("stream_"), "{}", minted.stream_id);
}

pub async fn racing_writers_of_a_stream_store_every_position_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    let writers = (0..8).map(|_| {
        let (store, scope, chat_id) = (Arc::clone(&store), chat.scope.clone(), chat.id.clone());
        async move {
            for from in 0..20_u64 {
                let chunks = vec![from.to_string()];
                loop {
                    let added = chunks.clone();
                    let id = stream_id("s1");
                    match store.append_chunks(&scope, &chat_id, &id, from, added).await {
                        Ok(_) => break,
                        Err(StoreError::StreamRefused { .. }) => {}
                        Err(error) => panic!("{error}"),
                    }
                }
            }
        }
    });
    race(writers).await;
    let expected: Vec<_> = (0..20).map(|position| position.to_string()).collect();
    assert_eq!(all_chunks(&chat, "s1").await, expected);
}

pub async fn a_stream_is_within_its_limits(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    let many = vec![String::new(); Stream::MAX_CHUNKS + 1];
    let too_many = store.append_chunks(&chat.scope, &chat.id, &stream_id("s1"), 0, many).await;
    assert_invalid(too_many, "/chunks", TooLarge(SizeLimit::Batch));
    let large = "x".repeat(Stream::MAX_CHUNK_BYTES);
    let too_large = format!("{large}x");
    let refused = append(&chat, "s1", 0, &[&too_large]).await;
    assert_invalid(refused, "/chunks", TooLarge(SizeLimit::Batch));
    for from in 0..16 {
        append(&chat, "s1", from, &[&large]).await.unwrap();
    }
    assert_stream_refused(append(&chat, "s1", 16, &["x"]).await, "s1", StreamRefusal::Full);
    let mut named = new("s2");
    named.header.agent = Some("two\nlines".to_owned());
    let refused = store.start_stream(&chat.scope, &chat.id, named).await;
    assert_invalid(refused, "/agent", NotAdmitted);
    for index in 1..Stream::MAX_RUNNING {
        start(&chat, &format!("more_{index}")).await;
    }
    let refused = store.start_stream(&chat.scope, &chat.id, new("last")).await;
    assert_stream_refused(refused, "last", StreamRefusal::TooMany);
}

pub async fn a_stream_of_an_unknown_chat_is_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    let other = Scope::service(records::AppId::parse("another").unwrap());
    let refused = store.append_chunks(&other, &chat.id, &stream_id("s1"), 1, Vec::new()).await;
    assert_refused(refused, &StoreError::ChatNotFound(chat.id.clone()));
    // A chat of others is no chat, whatever stream is named.
    for id in ["s1", "unknown"] {
        let refused = store.append_chunks(&other, &chat.id, &stream_id(id), 1, Vec::new()).await;
        assert_refused(refused, &StoreError::ChatNotFound(chat.id.clone()));
    }
    let refused = store.list_streams(&other, &chat.id).await;
    assert_refused(refused, &StoreError::ChatNotFound(chat.id.clone()));
    let refused = append(&chat, "unknown", 0, &["a"]).await;
    assert_refused(refused, &StoreError::StreamNotFound(stream_id("unknown")));
    let ended = TestChat::create(&store).await;
    ended.set_status(ChatStatus::Completed, None).await.unwrap();
    let refused = store.start_stream(&ended.scope, &ended.id, new("s1")).await;
    let (chat_id, status) = (ended.id.clone(), ChatStatus::Completed);
    assert_refused(refused, &StoreError::ChatEnded { chat_id, status });
}

pub async fn a_stream_ends_together_with_its_turn(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    let ended = end(&chat, "s1", finished(), Some(turn("r1", "a"))).await.unwrap();
    let appended = ended.turn.unwrap();
    assert_eq!((appended.last_sequence, appended.outcome), (1, Outcome::Stored));
    assert_eq!(ended.stream.mark.state, StreamState::Finished);
    assert_eq!(ended.stream.mark.last_sequence, Some(1));
    let again = end(&chat, "s1", finished(), Some(turn("r1", "a"))).await.unwrap();
    assert_eq!(again.turn.unwrap().outcome, Outcome::Duplicate);
    assert_eq!(again.stream, ended.stream);
    assert_eq!(contents(&messages(&chat).await), ["a"]);
    // A late repeat of chunks is answered, and new ones are refused.
    assert_eq!(append(&chat, "s1", 0, &["a"]).await.unwrap().next, 1);
    let is_over = StreamRefusal::Ended(StreamState::Finished);
    assert_stream_refused(append(&chat, "s1", 1, &["b"]).await, "s1", is_over);
    // There is no position from which chunks could still be added.
    assert_stream_refused(append(&chat, "s1", 7, &["b"]).await, "s1", is_over);
    // Another turn finds the stream ended, and is not written.
    let refused = end(&chat, "s1", finished(), Some(turn("r2", "b"))).await;
    assert_stream_refused(refused, "s1", is_over);
    assert_eq!(messages(&chat).await.len(), 1);
}

pub async fn a_stream_ends_with_what_its_turn_was_made_of(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    let made_of = Some(StreamContent { attempt: 1, next: 1 });
    let as_made = StreamEnding { made_of, ..finished() };
    // A chunk that says only that the agent is there changes nothing, and one that adds something does.
    append(&chat, "s1", 1, &[]).await.unwrap();
    append(&chat, "s1", 1, &["b"]).await.unwrap();
    for turn in [Some(turn("r1", "a")), None] {
        let refused = end(&chat, "s1", as_made.clone(), turn).await;
        assert_stream_refused(refused, "s1", StreamRefusal::OtherContent);
    }
    assert_eq!(messages(&chat).await.len(), 0);
    let made_of = Some(StreamContent { attempt: 1, next: 2 });
    let as_made = StreamEnding { made_of, ..finished() };
    let ended = end(&chat, "s1", as_made.clone(), Some(turn("r1", "ab"))).await.unwrap();
    assert_eq!(ended.turn.unwrap().outcome, Outcome::Stored);
    let again = end(&chat, "s1", as_made, Some(turn("r1", "ab"))).await.unwrap();
    assert_eq!(again.turn.unwrap().outcome, Outcome::Duplicate);
}

pub async fn a_stream_ends_without_a_turn(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    let failed = StreamEnding {
        error: Some("no model".to_owned()),
        ..StreamEnding::of(StreamState::Failed)
    };
    let ended = end(&chat, "s1", failed.clone(), None).await.unwrap();
    assert_eq!(ended.stream.mark.error.as_deref(), Some("no model"));
    assert_eq!(end(&chat, "s1", failed, None).await.unwrap(), ended);
    let is_over = StreamRefusal::Ended(StreamState::Failed);
    assert_stream_refused(end(&chat, "s1", finished(), None).await, "s1", is_over);
    let running = StreamEnding::of(StreamState::Running);
    assert_invalid(end(&chat, "s1", running, None).await, "/state", NotAdmitted);
    assert_eq!(messages(&chat).await.len(), 0);
}

pub async fn the_agent_of_a_cancelled_stream_is_told(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    let cancelled = store.cancel_stream(&chat.scope, &chat.id, &stream_id("s1")).await.unwrap();
    assert!(cancelled.mark.is_cancel_requested);
    assert_eq!(cancelled.mark.state, StreamState::Running);
    let told = StreamProgress { next: 2, is_cancel_requested: true };
    assert_eq!(append(&chat, "s1", 1, &["b"]).await.unwrap(), told);
    store.cancel_stream(&chat.scope, &chat.id, &stream_id("s1")).await.unwrap();
    let ending = StreamEnding::of(StreamState::Cancelled);
    end(&chat, "s1", ending, Some(turn("r1", "ab"))).await.unwrap();
    let ended = store.cancel_stream(&chat.scope, &chat.id, &stream_id("s1")).await.unwrap();
    assert_eq!(ended.mark.state, StreamState::Cancelled);
    assert_eq!(all_chunks(&chat, "s1").await, ["a", "b"]);
}

pub async fn a_stream_that_is_stopped_ends_whoever_writes_it(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let held = lease(&chat, "ann").await;
    store.start_stream(&held, &chat.id, new("s1")).await.unwrap();
    let add = |from, chunks: &[&str]| {
        let (store, held, id, chunks) = (&store, &held, &chat.id, text(chunks));
        async move { store.append_chunks(held, id, &stream_id("s1"), from, chunks).await }
    };
    add(0, &["a", "b"]).await.unwrap();
    let stopped = store.stop_stream(&chat.scope, &chat.id, &stream_id("s1")).await.unwrap();
    assert_eq!(stopped.mark.state, StreamState::Cancelled);
    assert_eq!((stopped.mark.next, stopped.mark.last_sequence), (2, None));
    let again = store.stop_stream(&chat.scope, &chat.id, &stream_id("s1")).await.unwrap();
    assert_eq!(again, stopped);
    // Its agent is told, also with chunks beyond those that it has lost.
    let told = StreamProgress { next: 2, is_cancel_requested: true };
    assert_eq!(add(2, &["c"]).await.unwrap(), told);
    assert_eq!(add(7, &["d"]).await.unwrap(), told);
    let ending = StreamEnding::of(StreamState::Cancelled);
    let ended = store.end_stream(&held, &chat.id, &stream_id("s1"), ending, None).await.unwrap();
    assert_eq!(ended.stream, stopped);
    assert_eq!(messages(&chat).await.len(), 0);
    // A stream that has ended stays as it is.
    store.start_stream(&held, &chat.id, new("s2")).await.unwrap();
    let (id, s2) = (&chat.id, stream_id("s2"));
    let ended = store.end_stream(&held, id, &s2, finished(), Some(turn("r1", "x"))).await.unwrap();
    assert_eq!(store.stop_stream(&chat.scope, id, &s2).await.unwrap(), ended.stream);
}

pub async fn a_stream_goes_with_the_text_of_its_turn(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for (number, id) in (0..).zip(["s1", "s2"]) {
        start(&chat, id).await;
        append(&chat, id, 0, &["secret"]).await.unwrap();
        end(&chat, id, finished(), Some(answer(id, "secret"))).await.unwrap();
        let change = MessageEdit { content: Some(json!("other")), ..MessageEdit::default() };
        match id {
            "s1" => drop(chat.delete_message(number).await.unwrap()),
            _ => drop(chat.update_message(number, change).await.unwrap()),
        }
        let gone = store.get_stream(&chat.scope, &chat.id, &stream_id(id)).await;
        assert_refused(gone, &StoreError::StreamNotFound(stream_id(id)));
        let groups = store.stream_groups(&chat.scope, &chat.id, &stream_id(id), None).await;
        assert!(groups.is_err(), "{groups:?}");
        // A late copy of its start does not bring the text back.
        let mut named = new("late");
        named.header.request_id = TurnId::parse(id).ok();
        for late in [new(id), named] {
            let id = late.stream_id.clone().unwrap();
            let refused = store.start_stream(&chat.scope, &chat.id, late).await;
            assert_stream_refused(refused, id.as_str(), StreamRefusal::TurnStored);
        }
    }
    // Metadata are no text, and another turn is another stream.
    start(&chat, "s3").await;
    append(&chat, "s3", 0, &["kept"]).await.unwrap();
    end(&chat, "s3", finished(), Some(answer("s3", "kept"))).await.unwrap();
    let named = MessageEdit { name: Some("Bob".to_owned()), ..MessageEdit::default() };
    chat.update_message(2, named).await.unwrap();
    chat.delete_message(1).await.unwrap();
    assert_eq!(all_chunks(&chat, "s3").await, ["kept"]);
}

pub async fn the_next_holder_of_the_lease_takes_a_stream_over(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = lease(&chat, "ann").await;
    store.start_stream(&first, &chat.id, new("s1")).await.unwrap();
    store.start_stream(&first, &chat.id, new("s2")).await.unwrap();
    let id = stream_id("s1");
    store.append_chunks(&first, &chat.id, &id, 0, text(&["a"])).await.unwrap();
    let without = store.append_chunks(&chat.scope, &chat.id, &id, 1, text(&["x"])).await;
    assert_stream_refused(without, "s1", StreamRefusal::NoLease);
    store.release_lease(&chat.scope, &chat.id, first.fencing_token.unwrap()).await.unwrap();
    let second = lease(&chat, "bob").await;
    let early = store.append_chunks(&second, &chat.id, &id, 1, text(&["x"])).await;
    assert_stream_refused(early, "s1", StreamRefusal::NotTakenOver);

    let mode = Takeover::Continue;
    let continued = store.take_over_stream(&second, &chat.id, &id, mode).await.unwrap();
    assert_eq!((continued.mark.next, continued.mark.attempt), (1, 1));
    store.take_over_stream(&second, &chat.id, &id, mode).await.unwrap();
    let late = store.append_chunks(&first, &chat.id, &id, 1, text(&["late"])).await;
    let token = first.fencing_token.unwrap();
    let fenced = StoreError::Fenced { chat_id: chat.id.clone(), fencing_token: token };
    assert_refused(late, &fenced);
    store.append_chunks(&second, &chat.id, &id, 1, text(&["b"])).await.unwrap();

    let other = stream_id("s2");
    store.append_chunks(&second, &chat.id, &id, 2, text(&["c"])).await.unwrap();
    let restarted = store
        .take_over_stream(&second, &chat.id, &other, Takeover::Restart { attempt: None })
        .await
        .unwrap();
    assert_eq!((restarted.mark.next, restarted.mark.attempt), (0, 2));
    let late = store.end_stream(&first, &chat.id, &other, finished(), Some(turn("r1", "x"))).await;
    assert_refused(late, &fenced);
    assert_eq!(messages(&chat).await.len(), 0);
    let without = store.take_over_stream(&chat.scope, &chat.id, &id, mode).await;
    assert_stream_refused(without, "s1", StreamRefusal::NoLease);
    assert_eq!(all_chunks(&chat, "s1").await, ["a", "b", "c"]);
}

pub async fn chunks_after_a_restart_are_stored_at_positions_that_were_void(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    for (from, chunk) in (0..).zip(["a", "b", "c"]) {
        append(&chat, "s1", from, &[chunk]).await.unwrap();
    }
    let restart = async |attempt| {
        let restart = Takeover::Restart { attempt };
        store.take_over_stream(&chat.scope, &chat.id, &stream_id("s1"), restart).await
    };
    assert_eq!(restart(Some(1)).await.unwrap().mark.attempt, 2);
    assert_eq!(append(&chat, "s1", 0, &["d"]).await.unwrap(), at(1));
    assert_eq!(append(&chat, "s1", 1, &["e"]).await.unwrap(), at(2));
    // A repeat, and one that comes late.
    let repeated = restart(Some(1)).await.unwrap();
    assert_eq!((repeated.mark.attempt, repeated.mark.next), (2, 2));
    let other = StreamRefusal::OtherAttempt { attempt: 2 };
    assert_stream_refused(restart(Some(3)).await, "s1", other);
    let restarted = restart(None).await.unwrap();
    assert_eq!((restarted.mark.attempt, restarted.mark.next), (3, 0));
    assert_eq!(append(&chat, "s1", 0, &["f"]).await.unwrap(), at(1));
    assert_stream_refused(restart(Some(1)).await, "s1", StreamRefusal::OtherAttempt { attempt: 3 });
    let current = groups(&chat, "s1").await.into_iter().filter(|group| group.mark.attempt == 3);
    let chunks: Vec<_> = current.flat_map(|group| group.chunks().to_vec()).collect();
    assert_eq!(chunks, ["f"]);
}

pub async fn the_end_of_a_stream_is_repeated_after_other_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    let first = end(&chat, "s1", finished(), Some(turn("r1", "a"))).await.unwrap();
    chat.append([message("later")]).await.unwrap();
    let again = end(&chat, "s1", finished(), Some(turn("r1", "a"))).await.unwrap();
    assert_eq!(again.stream, first.stream);
    assert_eq!(again.turn.map(|turn| turn.outcome), Some(Outcome::Duplicate));
    let failed = StreamEnding::of(StreamState::Failed);
    let refused = end(&chat, "s1", failed, None).await;
    assert_stream_refused(refused, "s1", StreamRefusal::Ended(StreamState::Finished));
}

pub async fn a_stream_in_the_place_of_an_abandoned_one_supersedes_it(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = lease(&chat, "ann").await;
    store.start_stream(&first, &chat.id, new("s1")).await.unwrap();
    store.append_chunks(&first, &chat.id, &stream_id("s1"), 0, text(&["a"])).await.unwrap();
    store.release_lease(&chat.scope, &chat.id, first.fencing_token.unwrap()).await.unwrap();
    let second = lease(&chat, "bob").await;
    store.start_stream(&second, &chat.id, new("s2")).await.unwrap();
    let listed = store.list_streams(&chat.scope, &chat.id).await.unwrap();
    let state = |id: &str| {
        let found = listed.iter().find(|it| it.stream_id == stream_id(id));
        found.map(|it| it.mark.state)
    };
    assert_eq!(state("s1"), Some(StreamState::Superseded));
    assert_eq!(state("s2"), Some(StreamState::Running));
    let late = store.append_chunks(&first, &chat.id, &stream_id("s1"), 1, text(&["b"])).await;
    assert_stream_refused(late, "s1", StreamRefusal::Ended(StreamState::Superseded));
}

pub async fn every_group_of_a_stream_is_notified(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let mut changes = store.changes(Interest::in_all_chats());
    while changes.next().await != Some(Change::Began) {}
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a", "b"]).await.unwrap();
    end(&chat, "s1", finished(), Some(turn("r1", "ab"))).await.unwrap();
    let mut seen: Vec<StreamGroup> = Vec::new();
    let told = async {
        while seen.len() < 3 {
            let Some(Change::Stream(change)) = changes.next().await else { continue };
            if change.chat_id == chat.id && change.group.mark.number == seen.len() as u64 {
                seen.push((*change.group).clone());
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(10), told).await.unwrap();
    assert_eq!(seen, groups(&chat, "s1").await);
    assert_eq!(seen[1].event, StreamEvent::Chunks(text(&["a", "b"])));
    assert_eq!(seen[2].event, StreamEvent::Ended);
}

pub async fn a_chat_that_ends_cancels_its_running_streams(store: Arc<dyn Store>) {
    for status in [ChatStatus::Completed, ChatStatus::Failed] {
        let chat = TestChat::create(&store).await;
        let held = lease(&chat, "ann").await;
        for id in ["s1", "s2", "s3"] {
            store.start_stream(&held, &chat.id, new(id)).await.unwrap();
            store.append_chunks(&held, &chat.id, &stream_id(id), 0, text(&["a"])).await.unwrap();
        }
        store.cancel_stream(&chat.scope, &chat.id, &stream_id("s2")).await.unwrap();
        let finished_one =
            store.end_stream(&held, &chat.id, &stream_id("s3"), finished(), None).await.unwrap();
        let mut changes = store.changes(Interest::in_all_chats());
        while changes.next().await != Some(Change::Began) {}

        chat.set_status(status, None).await.unwrap();
        let mut told = HashSet::new();
        let seen = async {
            while told.len() < 2 {
                let Some(Change::Stream(change)) = changes.next().await else { continue };
                if change.chat_id == chat.id && change.group.event == StreamEvent::Ended {
                    told.insert(change.stream_id);
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(10), seen).await.unwrap();
        assert_eq!(told, HashSet::from([stream_id("s1"), stream_id("s2")]));
        let why = format!("the chat has ended: {status}");
        for id in ["s1", "s2"] {
            assert_is_over(&chat, &held, id, &why).await;
        }
        let kept = store.get_stream(&chat.scope, &chat.id, &stream_id("s3")).await.unwrap();
        assert_eq!(kept, finished_one.stream);

        // What was cancelled stays so in a chat that is opened again, and another stream may be started.
        chat.set_status(ChatStatus::Running, None).await.unwrap();
        assert_is_over(&chat, &held, "s1", &why).await;
        start(&chat, "s4").await;
        assert_eq!(append(&chat, "s4", 0, &["b"]).await.unwrap(), at(1));
    }
}

pub async fn a_chat_that_ends_while_a_stream_starts_leaves_none_running(store: Arc<dyn Store>) {
    for _ in 0..8 {
        let chat = TestChat::create(&store).await;
        start(&chat, "s1").await;
        let (started, added, ended) = tokio::join!(
            store.start_stream(&chat.scope, &chat.id, new("s2")),
            append(&chat, "s1", 0, &["a"]),
            chat.set_status(ChatStatus::Completed, None),
        );
        ended.unwrap();
        let chat_ended =
            StoreError::ChatEnded { chat_id: chat.id.clone(), status: ChatStatus::Completed };
        if started.is_err() {
            assert_refused(started, &chat_ended);
        }
        assert_refused(end(&chat, "s1", finished(), Some(turn("r1", "a"))).await, &chat_ended);
        if added.is_err() {
            let is_over = StreamRefusal::Ended(StreamState::Cancelled);
            assert_stream_refused(added, "s1", is_over);
        }
        let listed = store.list_streams(&chat.scope, &chat.id).await.unwrap();
        let states: HashSet<_> = listed.iter().map(|stream| stream.mark.state).collect();
        assert_eq!(states, HashSet::from([StreamState::Cancelled]), "{listed:?}");
    }
}

pub async fn a_deleted_chat_takes_no_chunks(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    chat.change(SessionChange::to_lifecycle(Lifecycle::Archived)).await.unwrap();
    assert_eq!(append(&chat, "s1", 1, &["b"]).await.unwrap(), at(2));
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    let refused = append(&chat, "s1", 2, &["c"]).await;
    assert_refused(refused, &StoreError::ChatNotFound(chat.id.clone()));
    let restored = SessionChange::to_lifecycle(Lifecycle::Active);
    chat.seen_from(chat.scope.finding_deleted()).change(restored).await.unwrap();
    assert_is_over(&chat, &chat.scope, "s1", "the chat was deleted").await;
}

pub async fn a_purge_removes_the_streams(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    start(&chat, "s1").await;
    append(&chat, "s1", 0, &["a"]).await.unwrap();
    chat.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    let actor = chat.scope.actor();
    assert!(store.purge_chat(&actor, &chat.scope, &chat.id, None).await.unwrap());
    let refused = store.list_streams(&chat.scope, &chat.id).await;
    assert_refused(refused, &StoreError::ChatNotFound(chat.id.clone()));
}

/// Asserts that a stream was cancelled with its chat, and that its agent is refused.
async fn assert_is_over(chat: &TestChat, agent: &Scope, id: &str, why: &str) {
    let (store, id) = (&chat.store, stream_id(id));
    let stream = store.get_stream(&chat.scope, &chat.id, &id).await.unwrap();
    assert_eq!((stream.mark.state, stream.mark.last_sequence), (StreamState::Cancelled, None));
    assert_eq!(stream.mark.error.as_deref(), Some(why));
    let is_over = StreamRefusal::Ended(StreamState::Cancelled);
    let added = store.append_chunks(agent, &chat.id, &id, stream.mark.next, text(&["late"])).await;
    assert_stream_refused(added, id.as_str(), is_over);
    let ended = store.end_stream(agent, &chat.id, &id, finished(), None).await;
    assert_stream_refused(ended, id.as_str(), is_over);
}

fn stream_id(id: &str) -> StreamId {
    StreamId::parse(id).unwrap()
}

fn new(id: &str) -> NewStream {
    let agent = Some("writer".to_owned());
    let header = StreamHeader { format: StreamFormat::Text, agent, request_id: None };
    NewStream { stream_id: Some(stream_id(id)), header }
}

fn text(chunks: &[&str]) -> Vec<String> {
    chunks.iter().map(|&chunk| chunk.to_owned()).collect()
}

fn at(next: u64) -> StreamProgress {
    StreamProgress { next, is_cancel_requested: false }
}

fn finished() -> StreamEnding {
    StreamEnding::of(StreamState::Finished)
}

pub(crate) fn turn(id: &str, content: &str) -> NewTurn {
    NewTurn {
        request_id: TurnId::parse(id).unwrap(),
        outcome: TurnOutcome::Completed,
        messages: vec![TurnMessage { body: message(content).body, author: None }],
        steps: Vec::new(),
        connector: None,
        mode: None,
    }
}

fn answer(id: &str, content: &str) -> NewTurn {
    let mut turn = turn(id, content);
    "assistant".clone_into(&mut turn.messages[0].body.role);
    turn
}

async fn messages(chat: &TestChat) -> Vec<Message> {
    let range = MessageRange::Newest { before: None, limit: 100 };
    chat.messages(range).await.unwrap().messages
}

async fn start(chat: &TestChat, id: &str) -> Stream {
    chat.store.start_stream(&chat.scope, &chat.id, new(id)).await.unwrap().record
}

async fn append(
    chat: &TestChat,
    id: &str,
    from: u64,
    chunks: &[&str],
) -> Result<StreamProgress, StoreError> {
    chat.store.append_chunks(&chat.scope, &chat.id, &stream_id(id), from, text(chunks)).await
}

async fn end(
    chat: &TestChat,
    id: &str,
    ending: StreamEnding,
    turn: Option<NewTurn>,
) -> Result<EndedStream, StoreError> {
    chat.store.end_stream(&chat.scope, &chat.id, &stream_id(id), ending, turn).await
}

async fn groups(chat: &TestChat, id: &str) -> Vec<StreamGroup> {
    let (mut all, mut after) = (Vec::new(), None);
    loop {
        let id = stream_id(id);
        let page = chat.store.stream_groups(&chat.scope, &chat.id, &id, after).await.unwrap();
        let Some(last) = page.last() else { return all };
        after = Some(last.mark.number);
        all.extend(page);
    }
}

async fn all_chunks(chat: &TestChat, id: &str) -> Vec<String> {
    let chunks = groups(chat, id).await.into_iter().filter_map(|group| match group.event {
        StreamEvent::Chunks(chunks) => Some(chunks),
        _ => None,
    });
    chunks.flatten().collect()
}

/// Acquires the lease of a chat, and returns the scope of its holder.
async fn lease(chat: &TestChat, owner: &str) -> Scope {
    let owner = Owner::parse(owner).unwrap();
    let lease = NewLease { owner, lease_id: None, ttl: Lease::MIN_TTL * 100 };
    let lease = chat.store.acquire_lease(&chat.scope, &chat.id, lease).await.unwrap();
    chat.scope.clone().fenced(lease.fencing_token)
}

fn assert_stream_refused<T: std::fmt::Debug>(
    answer: Result<T, StoreError>,
    id: &str,
    reason: StreamRefusal,
) {
    assert_refused(answer, &StoreError::StreamRefused { stream_id: stream_id(id), reason });
}
