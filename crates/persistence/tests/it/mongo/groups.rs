//! Concurrent appends to one chat are stored together, and each gets a separate answer.

use std::time::Duration;

use bson::{Document, RawDocumentBuf, doc};
use futures::future::join_all;
use persistence::mongo::MongoStore;
use persistence::{Append, ChatSessions, Messages, Outcome, Store, StoreError};
use records::{Caller, ChatId, EventId, MessageBody, NewMessage, Permission, Scope, UserId};

use super::database::Database;
use super::faults::{FailPoint, chat, count, database, message, scope, sequences};

/// Makes all appends concurrently; they enter the queue in this order.
async fn together(
    store: &MongoStore,
    chat_id: &ChatId,
    appends: Vec<Vec<NewMessage>>,
) -> Vec<Result<Append, StoreError>> {
    let scope = &scope();
    join_all(appends.into_iter().map(|messages| store.append(scope, chat_id, messages))).await
}

fn numbered(count: usize) -> Vec<Vec<NewMessage>> {
    (0..count).map(|index| message(Some(&format!("evt_{index}")))).collect()
}

/// Delays every update, so that later appends must wait.
fn slow(milliseconds: i64) -> Document {
    doc! {
        "failCommands": ["findAndModify"], "appName": "under-test",
        "blockConnection": true, "blockTimeMS": milliseconds,
    }
}

#[tokio::test]
async fn concurrent_appends_take_few_updates_and_keep_their_order() {
    let database = Database::create_unsealed().await;
    let chat_id = chat(&database).await;
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    let answers = together(&database, &chat_id, numbered(500)).await;
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();

    for (index, answer) in answers.into_iter().enumerate() {
        let answer = answer.unwrap();
        assert_eq!(sequences(&answer), [index as u64]);
        assert_eq!(answer.last_sequence, index as u64 + 1);
        assert_eq!(answer.messages[0].event_id.as_str(), format!("evt_{index}"));
        assert_eq!(answer.messages[0].outcome, Outcome::Stored);
    }
    let profile = database.raw.collection::<RawDocumentBuf>("system.profile");
    // The profile cuts large commands off, but not what they did.
    let sessions = format!("{}.chat_sessions", database.raw.name());
    let updates = doc! { "ns": sessions, "nModified": { "$gt": 0 } };
    let updates = profile.count_documents(updates).await.unwrap();
    assert!((2..=20).contains(&updates), "500 appends took {updates} updates");
}

#[tokio::test]
async fn each_append_of_a_group_gets_a_separate_answer() {
    let (server, database) = database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let chat_id = chat(&database).await;
    database.append(&scope(), &chat_id, message(Some("known"))).await.unwrap();
    let mut other = message(Some("known"));
    other[0].body = MessageBody::new("user", Some("user"), "something else");
    let pair = [message(Some("new 1")), message(Some("known")), message(None)].concat();
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, slow(300)).await;
    let appends = vec![
        message(Some("first")),
        message(Some("known")),
        other,
        pair,
        message(Some("new 2")),
        message(Some("new 2")),
        message(None),
    ];
    let answers = together(&database, &chat_id, appends).await;
    assert!(point.off().await >= 1);

    let [first, known, other, pair, new, again, minted] = answers.try_into().unwrap();
    assert_eq!(sequences(&first.unwrap()), [1]);
    assert_eq!(sequences(known.as_ref().unwrap()), [0]);
    assert_eq!(known.unwrap().messages[0].outcome, Outcome::Duplicate);
    let other = other.unwrap_err();
    assert!(matches!(other, StoreError::EventConflict { sequence: 0, index: 0, .. }), "{other:?}");
    assert_eq!(sequences(&pair.unwrap()), [2, 0, 3]);
    assert_eq!(sequences(&new.unwrap()), [4]);
    let again = again.unwrap();
    assert_eq!((sequences(&again), again.messages[0].outcome), (vec![4], Outcome::Duplicate));
    assert_eq!(sequences(&minted.unwrap()), [5]);
    assert_eq!(count(&database, &chat_id).await, 6);
}

#[tokio::test]
async fn a_refused_group_is_tried_one_by_one() {
    let (server, database) = database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let chat_id = chat(&database).await;
    let refuse = doc! {
        "failCommands": ["findAndModify"], "appName": "under-test", "errorCode": 13,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 2 }, refuse).await;
    let answers = together(&database, &chat_id, numbered(3)).await;
    assert_eq!(point.off().await, 2, "the group and then its first append must be refused");
    let [first, second, third] = answers.try_into().unwrap();
    let first = first.unwrap_err();
    assert!(matches!(first, StoreError::Refused { .. }), "{first:?}");
    assert_eq!(sequences(&second.unwrap()), [0]);
    assert_eq!(sequences(&third.unwrap()), [1]);
    assert_eq!(count(&database, &chat_id).await, 2);
}

/// The server refuses a group of two appends, and then hangs on the first of them until its caller gives up. The
/// second append entered the queue later, so its deadline leaves time to try it.
#[tokio::test]
async fn a_refused_group_continues_after_one_append_times_out() {
    const MS: Duration = Duration::from_millis(1);
    let (server, mut database) = database().await;
    database.options.deadline = 6_000 * MS;
    let store = MongoStore::connect(&database.options).await.unwrap();
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let chat_id = chat(&database).await;
    let refuse = doc! {
        "failCommands": ["findAndModify"], "appName": "under-test", "errorCode": 13,
    };
    let refuse = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, refuse).await;
    let hang = "hangBeforeFindAndModifyPerformsUpdate";
    let hang = FailPoint::set(&client, hang, doc! { "skip": 0 }, doc! {}).await;
    let segments = format!("{}.chat_segments", database.raw.name());
    let hold = doc! { "collectionNS": segments };
    let hold =
        FailPoint::set(&client, "hangAfterCollectionInserts", doc! { "skip": 0 }, hold).await;

    let scope = scope();
    let append = |after: Duration, messages: Vec<NewMessage>| {
        let (store, scope, chat_id) = (&store, &scope, &chat_id);
        async move {
            tokio::time::sleep(after).await;
            store.append(scope, chat_id, messages).await
        }
    };
    // A large append writes with an insert and an update. The two other appends wait behind its insert.
    let first = append(Duration::ZERO, (0..100).flat_map(|_| message(None)).collect());
    let release = async {
        tokio::time::sleep(3_000 * MS).await;
        assert!(hold.off().await >= 1);
    };
    let second = async {
        let second = append(100 * MS, message(None)).await;
        assert!(hang.off().await >= 1);
        second
    };
    let third = append(2_500 * MS, message(None));
    let (first, (), second, third) = tokio::join!(first, release, second, third);
    assert_eq!(refuse.off().await, 1, "the group must be refused");
    assert_eq!(first.unwrap().last_sequence, 100);
    let second = second.unwrap_err();
    assert!(matches!(second, StoreError::OutcomeUnknown { .. }), "{second:?}");
    third.unwrap();
}

#[tokio::test]
async fn a_full_queue_refuses_appends_and_blocks_no_other_chat() {
    let (server, mut database) = database().await;
    database.options.queue.chat_appends = 2;
    let store = MongoStore::connect(&database.options).await.unwrap();
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let (full, other) = (chat(&database).await, chat(&database).await);
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, slow(500)).await;
    let elsewhere = async {
        tokio::time::sleep(Duration::from_millis(100)).await;
        store.append(&scope(), &other, message(None)).await
    };
    let (answers, elsewhere) = tokio::join!(together(&store, &full, numbered(5)), elsewhere);
    assert!(point.off().await >= 1);
    assert_eq!(sequences(&elsewhere.unwrap()), [0]);
    let refused = answers.iter().filter(|answer| answer.is_err()).count();
    // One append is in progress and two wait. The first may leave the queue only after the others
    // have entered it.
    assert!((2..=3).contains(&refused), "{answers:?}");
    for error in answers.into_iter().filter_map(Result::err) {
        assert!(matches!(error, StoreError::Overloaded { .. }), "{error:?}");
    }
    assert_eq!(count(&database, &full).await, 5 - refused);
}

#[tokio::test]
async fn an_append_cancelled_in_the_queue_is_never_stored() {
    let (server, mut database) = database().await;
    database.options.deadline = Duration::from_millis(600);
    let store = MongoStore::connect(&database.options).await.unwrap();
    let chat_id = chat(&database).await;
    // The ping opens a connection for the first append.
    store.ping().await.unwrap();
    server.members()[0].pause().unwrap();
    let scope = scope();
    let first = store.append(&scope, &chat_id, message(Some("first")));
    let behind = async {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let abandoned = store.append(&scope, &chat_id, message(Some("abandoned")));
        let answer = tokio::time::timeout(Duration::from_millis(50), abandoned).await;
        assert!(answer.is_err(), "the append must wait in the queue");
        together(&store, &chat_id, numbered(2)).await
    };
    let (first, behind) = tokio::join!(first, behind);
    server.members()[0].resume().unwrap();
    let first = first.unwrap_err();
    assert!(matches!(first, StoreError::OutcomeUnknown { .. }), "{first:?}");
    for waiting in behind {
        let error = waiting.unwrap_err();
        assert!(matches!(error, StoreError::Unavailable { .. }), "{error:?}");
    }
    let repeat = database.append(&scope, &chat_id, message(Some("first"))).await.unwrap();
    assert_eq!(sequences(&repeat), [0]);
    assert_eq!(count(&database, &chat_id).await, 1);
}

#[tokio::test]
async fn a_caller_without_access_is_refused_among_callers_with_access() {
    let database = Database::create().await;
    let mut new = records::NewChatSession::of(records::WorkflowName::parse("Generator").unwrap());
    new.visibility = records::Visibility::Private;
    new.user_id = Some(UserId::parse("ann").unwrap());
    let chat_id = database.create_chat(&scope(), new).await.unwrap().chat_id;
    let user = |name: &str| Scope {
        caller: Caller::User {
            user_id: UserId::parse(name).unwrap(),
            team_id: None,
            may_run: false,
        },
        permission: Permission::Say,
        ..scope()
    };
    let scopes = [scope(), user("bob"), user("ann"), user("bob"), scope(), user("ann")];
    let appends = scopes.iter().enumerate().map(|(index, scope)| {
        let event_id = EventId::parse(format!("evt_{index}")).unwrap();
        let body = MessageBody::new("user", Some("user"), "hello");
        database.append(
            scope,
            &chat_id,
            vec![NewMessage { event_id: Some(event_id), ..body.into() }],
        )
    });
    let answers = join_all(appends).await;
    let mut sequence = 0;
    for (scope, answer) in scopes.iter().zip(answers) {
        if *scope == user("bob") {
            let error = answer.unwrap_err();
            assert!(matches!(error, StoreError::ChatNotFound(_)), "{error:?}");
        } else {
            assert_eq!(sequences(&answer.unwrap()), [sequence]);
            sequence += 1;
        }
    }
    assert_eq!(count(&database, &chat_id).await, 4);
}
