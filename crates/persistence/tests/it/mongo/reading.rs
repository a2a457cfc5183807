//! Reads from the tail and from segments of any size use as few queries as possible.

use bson::{RawDocumentBuf, doc};
use futures::TryStreamExt;
use persistence::mongo::Interruption;
use persistence::{
    ChatSessions, Forks, MessageRange, Messages, Resumption, StoreError, one_by_one,
};
use records::{
    AppId, ChatId, Message, MessageBody, MessageEdit, NewChatSession, NewFork, Scope, WorkflowName,
};

use super::database::Database;
use super::faults::{self, FailPoint};

fn scope() -> Scope {
    Scope::service(AppId::parse("acme_corp").unwrap())
}

/// Creates a chat with segments of these numbers of messages, and a few more messages in its tail.
async fn chat_of(database: &Database, segments: &[usize], bytes: usize) -> ChatId {
    let new = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    for messages in segments {
        append(database, &chat_id, *messages, bytes).await;
        database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
    }
    chat_id
}

async fn append(database: &Database, chat_id: &ChatId, messages: usize, bytes: usize) {
    let message = || MessageBody::new("user", Some("user"), "x".repeat(bytes)).into();
    let messages = (0..messages).map(|_| message()).collect();
    database.append(&scope(), chat_id, messages).await.unwrap();
}

#[tokio::test]
async fn ranges_with_any_bounds_are_consecutive() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, &[1, 7, 1, 40, 2, 3, 20], 8).await;
    assert!(database.all("chat_segments").await.len() > 4);
    for before in (0..=74).step_by(3).map(Some).chain([None]) {
        for limit in [1, 2, 5, 28, 29, 60, usize::MAX] {
            let newest = MessageRange::Newest { before, limit };
            let after = before.map(|before| before / 2);
            let oldest = MessageRange::Oldest { after, before, limit };
            for range in [newest, oldest] {
                let page = database.messages(&scope(), &chat_id, range).await.unwrap();
                let (expected, has_more) = range.resolve(74);
                let sequences = page.messages.iter().map(|message| message.sequence);
                assert!(sequences.eq(expected), "{range:?}");
                assert_eq!(page.has_more, has_more, "{range:?}");
            }
        }
    }
}

/// Counts the queries of each collection on the server while `reading` runs.
async fn queries_of<const N: usize>(
    database: &Database,
    collections: [&str; N],
    reading: impl Future<Output = ()>,
) -> [u64; N] {
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    reading.await;
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    let mut counts = [0; N];
    for (count, collection) in counts.iter_mut().zip(collections) {
        let namespace = format!("{}.{collection}", database.options.database);
        *count = profile.count_documents(doc! { "ns": namespace }).await.unwrap();
    }
    profile.drop().await.unwrap();
    counts
}

/// Counts the queries that the server carries out for the chat while something is read.
async fn queries(database: &Database, reading: impl Future<Output = ()>) -> u64 {
    let collections = ["chat_sessions", "chat_segments"];
    queries_of(database, collections, reading).await.iter().sum()
}

#[tokio::test]
async fn the_newest_messages_take_one_query_and_one_more_below_the_tail() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, &[28, 28, 28, 10], 8).await;
    for (limit, expected) in [(1, 1), (4, 1), (5, 2), (50, 2)] {
        let newest = MessageRange::Newest { before: None, limit };
        let reading = async {
            let page = database.messages(&scope(), &chat_id, newest).await.unwrap();
            assert_eq!(page.messages.len(), limit);
        };
        assert_eq!(queries(&database, reading).await, expected, "the newest {limit}");
    }
}

/// The chat is larger than one part.
#[tokio::test]
async fn a_long_history_is_read_in_parts_and_its_session_once() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, &[30; 20], 8 << 10).await;
    let reading = async {
        let (scope, mut next) = (scope(), 0);
        let mut history = database.history(&scope, &chat_id);
        while let Some(message) = history.try_next().await.unwrap() {
            assert_eq!(message.sequence, next);
            next += 1;
        }
        assert_eq!(next, 600);
    };
    let queries = queries(&database, reading).await;
    assert!((3..=6).contains(&queries), "{queries} queries");
}

async fn fork(database: &Database, chat_id: &ChatId, sequence: u64) -> ChatId {
    let fork = NewFork { sequence: Some(sequence), ..NewFork::default() };
    database.fork_chat(&scope(), chat_id, fork).await.unwrap().chat_id
}

async fn edit(database: &Database, chat_id: &ChatId, sequence: u64, content: String) {
    let edit = MessageEdit { content: Some(content.into()), ..MessageEdit::default() };
    database.update_message(&scope(), chat_id, sequence, edit).await.unwrap();
}

/// The messages are in the segments of three chats, and some of them in overlays, together about 8 MiB.
#[tokio::test]
async fn the_session_of_a_forked_chat_is_read_once_for_its_whole_history() {
    let database = Database::create_unsealed().await;
    let first = chat_of(&database, &[30; 10], 8 << 10).await;
    let second = fork(&database, &first, 285).await;
    append(&database, &second, 315, 8 << 10).await;
    database.seal(&scope().app_id, &second, Interruption::Never).await.unwrap();
    edit(&database, &second, 40, "in the second".to_owned()).await;
    let third = fork(&database, &second, 590).await;
    append(&database, &third, 310, 8 << 10).await;
    database.seal(&scope().app_id, &third, Interruption::Never).await.unwrap();
    edit(&database, &first, 50, "in the first, after the fork".to_owned()).await;
    for sequence in [41, 284, 285, 589] {
        edit(&database, &third, sequence, format!("in the third {sequence}")).await;
    }

    let mut read = Vec::new();
    let collections = ["chat_sessions", "chat_segments", "message_versions"];
    let scope = scope();
    let reading = async {
        read = database.history(&scope, &third).try_collect().await.unwrap();
    };
    let [sessions, segments, versions] = queries_of(&database, collections, reading).await;
    assert_eq!(sessions, 1, "reads of the session");
    assert!((6..=16).contains(&segments), "{segments} reads of segments");
    assert!((2..=32).contains(&versions), "{versions} reads of overlays");
    assert!(read.iter().map(|message| message.sequence).eq(0..900));
    for (sequence, message) in (0..).zip(&read) {
        let expected = match sequence {
            40 => "in the second".to_owned(),
            41 | 284 | 285 | 589 => format!("in the third {sequence}"),
            _ => "x".repeat(8 << 10),
        };
        assert!(message.body.content == expected, "message {sequence}");
    }
}

/// Overlays count towards what is fetched at a time, and one of them may be larger than that.
#[tokio::test]
async fn large_overlays_of_small_messages_are_read_in_parts() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, &[200], 8).await;
    let forked = fork(&database, &chat_id, 190).await;
    let large = |sequence: u64| sequence.to_string().repeat(300_000);
    for sequence in [0, 1, 2, 60, 61, 62, 188, 189] {
        edit(&database, &forked, sequence, large(sequence)).await;
    }
    let scope = scope();
    let read: Vec<_> = database.history(&scope, &forked).try_collect().await.unwrap();
    assert!(read.iter().map(|message| message.sequence).eq(0..190));
    for message in &read {
        let is_large = [0, 1, 2, 60, 61, 62, 188, 189].contains(&message.sequence);
        let expected = if is_large { large(message.sequence) } else { "x".repeat(8) };
        assert!(message.body.content == expected, "message {}", message.sequence);
    }
    let (mut paged, mut before) = (Vec::new(), None);
    while before != Some(0) {
        let newest = MessageRange::Newest { before, limit: 190 };
        let page = database.messages(&scope, &forked, newest).await.unwrap();
        before = page.messages.first().map(|message| message.sequence);
        paged.splice(0..0, page.messages);
    }
    assert!(paged == read);
}

#[tokio::test]
async fn a_history_being_read_neither_grows_nor_fails() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, &[30; 10], 8 << 10).await;
    let scope = scope();
    let mut history = database.history(&scope, &chat_id);
    let mut next = 0;
    while let Some(message) = history.try_next().await.unwrap() {
        assert_eq!(message.sequence, next);
        next += 1;
        if next == 10 {
            append(&database, &chat_id, 40, 8).await;
            database.seal(&scope.app_id, &chat_id, Interruption::Never).await.unwrap();
            // This edit splits a segment that is not read yet.
            let large = Some("x".repeat(2 << 20).into());
            let edit = MessageEdit { content: large, ..MessageEdit::default() };
            database.update_message(&scope, &chat_id, 250, edit).await.unwrap();
        }
    }
    assert_eq!(next, 300);
}

/// The next part is fetched while one part is read, and may have been split or edited meanwhile.
#[tokio::test]
async fn an_edit_of_a_prefetched_part_affects_only_its_message() {
    for sequence in [60, 125, 180, 239, 299] {
        let database = Database::create_unsealed().await;
        let chat_id = chat_of(&database, &[30; 10], 8 << 10).await;
        let before = database.get_message(&scope(), &chat_id, sequence).await.unwrap();
        let scope = scope();
        let mut history = database.history(&scope, &chat_id);
        let mut read = vec![history.try_next().await.unwrap().unwrap()];
        let large = Some("y".repeat(2 << 20).into());
        let edit = MessageEdit { content: large, ..MessageEdit::default() };
        let after = database.update_message(&scope, &chat_id, sequence, edit).await.unwrap();
        read.extend(history.try_collect::<Vec<_>>().await.unwrap());

        assert!(read.iter().map(|message| message.sequence).eq(0..300), "{sequence}");
        let edited = &read[usize::try_from(sequence).unwrap()];
        assert!([&before, &after].contains(&edited), "{sequence}");
        let again: Vec<_> = database.history(&scope, &chat_id).try_collect().await.unwrap();
        assert_eq!(again[usize::try_from(sequence).unwrap()], after);
    }
}

/// The reader estimates the beginning of the next part by the count, and corrects it by the messages.
#[tokio::test]
async fn segments_with_a_wrong_count_are_read_correctly() {
    for count in [0_i64, 29, 31, i64::MAX] {
        let database = Database::create_unsealed().await;
        let chat_id = chat_of(&database, &[30; 10], 8 << 10).await;
        let segments = database.raw.collection::<RawDocumentBuf>("chat_segments");
        segments.update_many(doc! {}, doc! { "$set": { "count": count } }).await.unwrap();
        let scope = scope();
        let read: Vec<_> = database.history(&scope, &chat_id).try_collect().await.unwrap();
        assert!(read.iter().map(|message| message.sequence).eq(0..300), "{count}");
    }
}

/// No reader returns a chat as whole, or a message as unknown, where a segment is missing.
#[tokio::test]
async fn a_chat_that_lacks_a_segment_is_corrupt_for_every_reader() {
    let database = Database::create_unsealed().await;
    let chat_id = chat_of(&database, &[30; 4], 8).await;
    let forked = fork(&database, &chat_id, 110).await;
    let segments = database.raw.collection::<RawDocumentBuf>("chat_segments");
    // Each segment leaves 4 messages in the tail: this one holds 56 to 85.
    let missing = doc! { "_id.chat_id": chat_id.as_str(), "_id.first_sequence": 56 };
    assert_eq!(segments.delete_one(missing).await.unwrap().deleted_count, 1);
    let scope = scope();
    for chat_id in [&chat_id, &forked] {
        let newest = MessageRange::Newest { before: None, limit: 50 };
        let edit = MessageEdit { content: Some("edited".into()), ..MessageEdit::default() };
        let refusals = [
            database.messages(&scope, chat_id, MessageRange::all()).await.err(),
            database.messages(&scope, chat_id, newest).await.err(),
            database.history(&scope, chat_id).try_collect::<Vec<_>>().await.err(),
            resumed(&database, chat_id).await.err(),
            database.get_message(&scope, chat_id, 60).await.err(),
            database.update_message(&scope, chat_id, 60, edit).await.err(),
        ];
        for (reader, refusal) in refusals.iter().enumerate() {
            let is_corrupt = |error: &StoreError| matches!(error, StoreError::Corrupt { collection, .. } if *collection == "chat_segments");
            assert!(refusal.as_ref().is_some_and(is_corrupt), "{reader}: {refusal:?}");
        }
        // The messages around it can still be read.
        let before = MessageRange::Oldest { after: None, before: Some(56), limit: 100 };
        assert_eq!(database.messages(&scope, chat_id, before).await.unwrap().messages.len(), 56);
        assert_eq!(database.get_message(&scope, chat_id, 86).await.unwrap().sequence, 86);
    }
}

/// Reads the messages of a resume.
async fn resumed(database: &Database, chat_id: &ChatId) -> Result<Vec<Message>, StoreError> {
    let mut resumed = database.resume_state(&scope(), chat_id).await?;
    one_by_one(resumed.messages.pages()).try_collect().await
}

/// A server keeps old moments for a limited time only.
#[tokio::test]
async fn a_resume_outlives_the_snapshot_of_the_server_until_a_message_is_edited() {
    let (server, database) = faults::database().await;
    let chat_id = chat_of(&database, &[30; 10], 8 << 10).await;
    let before: Vec<_> = database.history(&scope(), &chat_id).try_collect().await.unwrap();
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    for is_edited in [false, true] {
        let mut resumed = database.resume_state(&scope(), &chat_id).await.unwrap();
        append(&database, &chat_id, 40, 8).await;
        database.seal(&scope().app_id, &chat_id, Interruption::Never).await.unwrap();
        if is_edited {
            edit(&database, &chat_id, 250, "edited".to_owned()).await;
        }
        let too_old = doc! { "failCommands": ["find"], "appName": "under-test", "errorCode": 239 };
        let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, too_old).await;
        let read = one_by_one(resumed.messages.pages()).try_collect::<Vec<_>>().await;
        assert!(point.off().await >= 1);
        match read {
            Ok(read) => assert!(!is_edited && read[..300] == before),
            Err(error) => {
                assert!(is_edited && matches!(error, StoreError::Unavailable { .. }), "{error:?}");
            }
        }
    }
}
