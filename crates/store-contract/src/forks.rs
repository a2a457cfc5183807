//! Forks: chats that continue from an earlier point of another chat.

use std::sync::Arc;

use futures::TryStreamExt as _;
use records::{
    CallId, ChatId, ChatStatus, ForkOrigin, InvalidKind, Message, MessageBody, NewArtifact,
    NewChatSession, NewFork, NewMessage, NewProviderCall, TeamId, UserId, Uuid7Ids, Visibility,
};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, assert_dense, assert_invalid, assert_refused, contents, event, event_id, message,
    new_chat, new_content, numbered, object, outcomes, race, sequences,
};
use persistence::{Creation, MessageRange, Outcome, Store, StoreError, fork_chat_once, one_by_one};

/// All positions of interest: the ends, the edges of segments, and positions in segments and in the tail.
const SEQUENCES: [u64; 9] = [0, 1, 31, 32, 33, 200, 318, 319, 320];

/// Sequences in a [`long_chat`], old and new.
const OLD_AND_NEW: [u64; 4] = [0, 40, 318, 319];

pub async fn a_fork_holds_the_messages_of_its_source_below_its_sequence(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    source.update_message(30, new_content("edited")).await.unwrap();
    source.delete_message(31).await.unwrap();
    source.delete_message(317).await.unwrap();
    let messages = source.history().await.unwrap();
    for sequence in SEQUENCES {
        let fork = source.fork_at(sequence).await;
        let expected = &messages[..index(sequence)];
        assert_same(&fork, expected).await;
        assert_eq!(fork.session().await.last_sequence, sequence);
        let missing = StoreError::MessageNotFound { chat_id: fork.id.clone(), sequence };
        assert_refused(fork.get_message(sequence).await, &missing);
    }
    let whole = source.fork(NewFork::default()).await.unwrap();
    assert_same(&whole, &messages).await;
    assert_same(&source, &messages).await;
}

pub async fn every_field_of_a_fork_is_returned(store: Arc<dyn Store>) {
    let source = TestChat::create_from(
        &store,
        NewChatSession {
            user_id: Some(UserId::parse("alice").unwrap()),
            team_id: Some(TeamId::parse("blue").unwrap()),
            visibility: Visibility::Team,
            title: Some("the first try".to_owned()),
            system_prompt: Some("Be brief.".to_owned()),
            ..new_chat()
        },
    )
    .await;
    source.append(numbered(0..3)).await.unwrap();
    let before = source.whole().await;
    let fork = NewFork {
        chat_id: Some(ChatId::mint(&Uuid7Ids)),
        sequence: Some(2),
        user_id: Some(UserId::parse("bob").unwrap()),
        cache_seed: Some(7),
        title: Some("the second try".to_owned()),
        metadata: object(json!({"a.b": {"$set": 1}})),
    };
    let made = store.fork_chat(&source.scope, &source.id, fork.clone()).await.unwrap();
    assert_eq!(Some(&made.chat_id), fork.chat_id.as_ref());
    assert_eq!(
        (&made.user_id, &made.title, &made.metadata),
        (&fork.user_id, &fork.title, &fork.metadata)
    );
    assert_eq!((made.cache_seed, made.last_sequence), (7, 2));
    assert_eq!(made.team_id, before.session.team_id);
    assert_eq!((made.visibility, made.status), (Visibility::Team, ChatStatus::Running));
    assert_eq!(made.workflow_name, before.session.workflow_name);
    assert_eq!(made.system_prompt, before.session.system_prompt);
    let origin = ForkOrigin { chat_id: source.id.clone(), sequence: 2 };
    assert_eq!(made.forked_from, Some(origin));
    assert!(made.created_at >= before.session.created_at);
    let seen = TestChat { id: made.chat_id.clone(), ..source.clone() };
    assert_eq!(seen.session().await, made);
    assert_eq!(source.whole().await, before, "the source is unchanged");
}

pub async fn a_fork_of_a_chat_without_messages_has_none(store: Arc<dyn Store>) {
    let source = TestChat::create(&store).await;
    let fork = source.fork(NewFork::default()).await.unwrap();
    assert_same(&fork, &[]).await;
    let append = fork.append([message("first")]).await.unwrap();
    assert_eq!((sequences(&append), source.session().await.last_sequence), (vec![0], 0));
}

pub async fn a_fork_is_running_and_inherits_no_other_records(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    source.update_artifact(NewArtifact::default()).await.unwrap();
    source.record(vec![NewProviderCall::default()]).await.unwrap();
    source.join("alice").await.unwrap();
    source.delete_message(3).await.unwrap();
    source.set_status(ChatStatus::Failed, Some("it broke")).await.unwrap();
    let fork = source.fork(NewFork::default()).await.unwrap();
    let session = fork.session().await;
    assert_eq!((session.status, session.status_reason), (ChatStatus::Running, None));
    assert_eq!((session.completed_at, session.pending_inputs), (None, Vec::new()));
    assert_eq!(fork.get_artifact().await.unwrap(), None);
    assert_eq!(fork.usage().await, records::Usage::default());
    assert_eq!(fork.participants().await.unwrap(), []);
    let head = store.confirmed_head(&fork.scope, &fork.id).await.unwrap();
    assert_eq!((head.revision, head.recent_edits), (0, Vec::new()));
    fork.append([message("on it goes")]).await.unwrap();
}

pub async fn a_fork_has_the_context_snapshot_of_its_sequence(store: Arc<dyn Store>) {
    for text in ["small".to_owned(), "large".repeat(4_000)] {
        let source = TestChat::create(&store).await;
        source.append(numbered(0..3)).await.unwrap();
        let empty = source.fork_at(3).await.load_context().await.unwrap();
        assert_eq!((empty.sequence, empty.data), (0, object(json!({}))));
        let taken = source.replace_context(object(json!({"text": text, "a.b": 1}))).await.unwrap();
        source.append(numbered(0..3)).await.unwrap();
        for sequence in 3..6 {
            let fork = source.fork_at(sequence).await;
            assert_eq!(fork.load_context().await.unwrap(), taken, "at {sequence}");
        }
        let early = source.fork_at(2).await.load_context().await.unwrap();
        assert_eq!((early.sequence, early.data), (0, object(json!({}))));

        let fork = source.fork_at(4).await;
        let merged = fork.merge_context(object(json!({"text": "another"}))).await.unwrap();
        assert_eq!(
            (merged.sequence, merged.data),
            (4, object(json!({"text": "another", "a.b": 1})))
        );
        assert_eq!(source.load_context().await.unwrap(), taken);
        let fork = source.fork_at(4).await;
        let later = source.replace_context(object(json!({"text": "another"}))).await.unwrap();
        assert_eq!(fork.load_context().await.unwrap(), taken);
        // A fork inherits the snapshot that was current at its sequence, although newer ones were
        // written since.
        for n in 0..20 {
            source.append(numbered(0..1)).await.unwrap();
            source.replace_context(object(json!({"n": n}))).await.unwrap();
        }
        for (sequence, expected) in [(5, &taken), (6, &later)] {
            let fork = source.fork_at(sequence).await;
            assert_eq!(fork.load_context().await.unwrap(), *expected, "at {sequence}");
            let versions = fork.context_versions().await.unwrap();
            assert_eq!(versions.len(), 1);
            let kept = fork.context_version(1).await.unwrap().unwrap();
            assert_eq!((&kept.data, kept.version.sequence), (&expected.data, expected.sequence));
            fork.replace_context(object(json!({"n": "its own"}))).await.unwrap();
            assert_eq!(fork.context_versions().await.unwrap()[1..], versions);
        }
        let fork = source.fork_at(16).await.load_context().await.unwrap();
        assert_eq!((fork.sequence, fork.data), (16, object(json!({"n": 9}))));
    }
}

pub async fn source_and_fork_continue_with_separate_counters(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let (early, late) = (source.fork_at(100).await, source.fork_at(320).await);
    for (chat, first) in [(&early, 100), (&late, 320), (&source, 320)] {
        let append = chat.append([event("a", chat.id.as_str()), event("b", 1)]).await.unwrap();
        assert_eq!(sequences(&append), [first, first + 1]);
        assert_eq!(outcomes(&append), [Outcome::Stored; 2]);
        chat.append_filler().await;
        let messages = chat.history().await.unwrap();
        assert_dense(&messages);
        assert_eq!(messages.len() as u64, first + 502);
        assert_eq!(messages[index(first)].body.content, chat.id.as_str());
        assert_same(chat, &messages).await;
    }
}

pub async fn changes_of_a_source_do_not_affect_its_forks(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    source.update_message(40, new_content("before")).await.unwrap();
    let forks = [source.fork_at(300).await, source.fork_at(320).await];
    let before = source.history().await.unwrap();
    change(&source, OLD_AND_NEW, false).await;
    for (fork, end) in forks.iter().zip([300, 320]) {
        assert_same(fork, &before[..end]).await;
    }
    // Now all inherited messages are sealed, in every chat.
    for chat in forks.iter().chain([&source]) {
        chat.append_filler().await;
    }
    change(&source, OLD_AND_NEW, true).await;
    for (fork, end) in forks.iter().zip([300, 320]) {
        assert_eq!(fork.history().await.unwrap()[..end], before[..end]);
        fork_ends(fork, end).await;
    }
}

pub async fn changes_of_a_fork_do_not_affect_its_source(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let before = source.history().await.unwrap();
    let (fork, sibling) = (source.fork_at(320).await, source.fork_at(320).await);
    change(&fork, OLD_AND_NEW, false).await;
    assert_same(&source, &before).await;
    assert_same(&sibling, &before).await;
    let forked = fork.history().await.unwrap();
    fork.append_filler().await;
    source.append_filler().await;
    assert_eq!(fork.history().await.unwrap()[..320], forked);
    change(&fork, OLD_AND_NEW, true).await;
    assert_eq!(source.history().await.unwrap()[..320], before);
    assert_same(&sibling, &before).await;
}

pub async fn forks_of_forks_are_independent(store: Arc<dyn Store>) {
    let mut family = vec![long_chat(&store).await];
    for generation in 1..5 {
        let parent = family.last().unwrap();
        // The fork inherits this edit of its parent.
        parent.update_message(generation, new_content(json!(["by", generation]))).await.unwrap();
        let fork = parent.fork_at(400 - generation * 80).await;
        let messages = numbered(0..120);
        fork.append(messages).await.unwrap();
        fork.delete_message(generation + 10).await.unwrap();
        family.push(fork);
    }
    let mut expected = Vec::new();
    for chat in &family {
        expected.push(chat.history().await.unwrap());
    }
    for (chat, expected) in family.iter().zip(&expected) {
        assert_same(chat, expected).await;
    }
    for changed in 0..family.len() {
        for sequence in [0, 2, 13, 60, 100] {
            let content = new_content(json!([changed, sequence]));
            expected[changed][index(sequence)] =
                match family[changed].update_message(sequence, content).await {
                    Ok(message) => message,
                    Err(StoreError::MessageNotFound { .. }) => continue,
                    Err(other) => panic!("{other:?}"),
                };
        }
        for (chat, expected) in family.iter().zip(&expected) {
            assert!(chat.history().await.unwrap() == *expected, "{changed} was changed");
        }
    }
    let origin = |chat: &records::ChatSession| chat.forked_from.clone().map(|from| from.chat_id);
    for pair in family.windows(2) {
        assert_eq!(origin(&pair[1].session().await), Some(pair[0].id.clone()));
    }
}

pub async fn each_fork_keeps_the_version_that_it_inherited(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let mut forks = vec![(source.fork_at(320).await, source.get_message(7).await.unwrap())];
    for round in 0..4 {
        for time in 0..3 {
            source.update_message(7, new_content(json!([round, time]))).await.unwrap();
        }
        forks.push((source.fork_at(320).await, source.get_message(7).await.unwrap()));
        let of_fork = forks[0].0.fork_at(100).await;
        forks.push((of_fork.clone(), of_fork.get_message(7).await.unwrap()));
    }
    source.delete_message(7).await.unwrap();
    for (fork, expected) in &forks {
        assert_eq!(fork.get_message(7).await.unwrap(), *expected);
        assert_eq!(fork.history().await.unwrap()[7], *expected);
    }
}

pub async fn shared_messages_may_grow_to_3_mib_each(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let fork = source.fork_at(320).await;
    let before = source.history().await.unwrap();
    let mut expected = before.clone();
    for sequence in [0, 3, 4, 5, 6, 7, 8, 200, 201] {
        let large = format!("{sequence:08}").repeat((3 << 20) / 8);
        expected[index(sequence)] =
            fork.update_message(sequence, new_content(large)).await.unwrap();
    }
    assert!(fork.history().await.unwrap() == expected);
    let first = fork.messages(MessageRange::all()).await.unwrap();
    assert!(first.has_more && first.messages == expected[..first.messages.len()]);
    let newest = MessageRange::Newest { before: Some(210), limit: 210 };
    let newest = fork.messages(newest).await.unwrap();
    assert!(newest.has_more && newest.messages == expected[210 - newest.messages.len()..210]);
    assert!(source.history().await.unwrap() == before);
}

pub async fn a_fork_recognises_inherited_event_ids(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let fork = source.fork_at(310).await;
    fork.update_message(5, new_content("changed")).await.unwrap();
    for sequence in [0, 5, 150, 309] {
        let id = format!("e{sequence}");
        let again = fork.append([event(&id, sequence)]).await.unwrap();
        assert_eq!(
            (sequences(&again), outcomes(&again)),
            (vec![sequence], vec![Outcome::Duplicate])
        );
        let other = fork.append([event(&id, "another")]).await;
        assert!(matches!(other, Err(StoreError::EventConflict { .. })), "{other:?}");
        let found = store.get_message_by_id(&fork.scope, &fork.id, &event_id(&id)).await.unwrap();
        assert_eq!(found, Some(fork.get_message(sequence).await.unwrap()));
    }
    // Only the source has this id.
    assert_eq!(
        store.get_message_by_id(&fork.scope, &fork.id, &event_id("e310")).await.unwrap(),
        None
    );
    let append = fork.append([event("e310", "its own"), event("e1", 1), event("e319", 0)]).await;
    let append = append.unwrap();
    assert_eq!(sequences(&append), [310, 1, 311]);
    assert_eq!(outcomes(&append), [Outcome::Stored, Outcome::Duplicate, Outcome::Stored]);
    let append = source.append([event("e310", 310)]).await.unwrap();
    assert_eq!((sequences(&append), outcomes(&append)), (vec![310], vec![Outcome::Duplicate]));
    let of_fork = fork.fork_at(311).await;
    let append = of_fork.append([event("e310", "its own"), event("e319", "new")]).await.unwrap();
    assert_eq!(outcomes(&append), [Outcome::Duplicate, Outcome::Stored]);
}

pub async fn initial_messages_are_recognised_in_a_fork(store: Arc<dyn Store>) {
    let source = TestChat::create(&store).await;
    source.append_filler().await;
    source.append([message("start"), message("go on")]).await.unwrap();
    for sequence in [502, 501] {
        let fork = source.fork_at(sequence).await;
        let initial = fork.persist_initial([message("start"), message("go on")]).await.unwrap();
        assert_eq!(sequences(&initial), [500, 501]);
        assert_eq!(fork.history().await.unwrap().len(), 502);
    }
}

pub async fn deleting_a_call_in_a_fork_does_not_affect_its_source(store: Arc<dyn Store>) {
    let source = TestChat::create(&store).await;
    source.append([linked("q", "call_a"), linked("r", "call_b")]).await.unwrap();
    source.append_filler().await;
    source.append([linked("s", "call_a")]).await.unwrap();
    source.update_message(1, new_content("edited")).await.unwrap();
    let fork = source.fork(NewFork::default()).await.unwrap();
    let links = [json!("call_a"), json!("call_b"), json!("call_a")];
    assert_eq!(link_of(&fork).await, links);
    for call in ["call_a", "call_b"] {
        let call_id = Some(CallId::parse(call).unwrap());
        let call = NewProviderCall { call_id, ..NewProviderCall::default() };
        source.record(vec![call.clone()]).await.unwrap();
        fork.record(vec![call]).await.unwrap();
    }
    fork.update_message(1, new_content("edited again")).await.unwrap();
    delete_call(&fork, "call_a").await;
    assert_eq!(link_of(&fork).await, [Value::Null, json!("call_b"), Value::Null]);
    assert_eq!(link_of(&source).await, links);
    delete_call(&source, "call_b").await;
    assert_eq!(link_of(&fork).await, [Value::Null, json!("call_b"), Value::Null]);
    assert_eq!(link_of(&source).await, [json!("call_a"), Value::Null, json!("call_a")]);
    delete_call(&fork, "call_b").await;
    assert_eq!(link_of(&fork).await, [Value::Null, Value::Null, Value::Null]);
    assert_eq!(fork.get_message(1).await.unwrap().body.content, "edited again");
    let head = store.confirmed_head(&fork.scope, &fork.id).await.unwrap();
    assert_eq!((head.revision, head.recent_edits), (4, vec![1, 0, 502, 1]));
}

pub async fn a_sequence_the_chat_has_not_reached_is_refused(store: Arc<dyn Store>) {
    let source = TestChat::create(&store).await;
    source.append(numbered(0..3)).await.unwrap();
    for sequence in [4, u64::MAX] {
        let fork = NewFork { sequence: Some(sequence), ..NewFork::default() };
        assert_invalid(source.fork(fork).await, "/sequence", InvalidKind::Value);
    }
    let title = Some("x".repeat(records::Limits::TITLE_CHARS + 1));
    let fork = NewFork { title, ..NewFork::default() };
    assert_invalid(source.fork(fork).await, "/title", InvalidKind::Value);
    let chats = persistence::ChatFilter::default();
    assert_eq!(store.list_chats(&source.scope, &chats, 10, None).await.unwrap().chats.len(), 1);
}

pub async fn a_fork_under_an_id_that_exists_is_refused_and_changes_nothing(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let other = TestChat::create(&store).await;
    other.append(numbered(0..2)).await.unwrap();
    let fork = source.fork_at(10).await;
    for taken in [&source, &other, &fork] {
        let before = taken.whole().await;
        let again = NewFork { chat_id: Some(taken.id.clone()), ..NewFork::default() };
        let exists = StoreError::ChatExists(taken.id.clone());
        assert_refused(source.fork(again).await.map(drop), &exists);
        assert_eq!(taken.whole().await, before);
    }
}

pub async fn a_fork_that_is_repeated_returns_the_fork_and_changes_nothing(store: Arc<dyn Store>) {
    let source = TestChat::create(&store).await;
    source.append(numbered(0..3)).await.unwrap();
    let scope = &source.scope;
    for sequence in [None, Some(2)] {
        let chat_id = ChatId::mint(&Uuid7Ids);
        let new = NewFork { chat_id: Some(chat_id.clone()), sequence, ..NewFork::default() };
        let first = fork_chat_once(&*store, scope, &source.id, new.clone()).await.unwrap();
        let fork = TestChat { id: chat_id.clone(), ..source.clone() };
        assert_eq!(first, Creation::New(fork.session().await));
        source.append([message("later")]).await.unwrap();
        fork.append([message("of the fork")]).await.unwrap();
        let before = fork.whole().await;
        let again = fork_chat_once(&*store, scope, &source.id, new.clone()).await.unwrap();
        assert_eq!(again, Creation::Repeated(before.session.clone()));
        let exists = StoreError::ChatExists(chat_id.clone());
        for other in [
            NewFork { sequence: Some(1), ..new.clone() },
            NewFork { title: Some("another".to_owned()), ..new.clone() },
            NewFork { cache_seed: Some(7), ..new.clone() },
        ] {
            let refused = fork_chat_once(&*store, scope, &source.id, other).await;
            assert_refused(refused, &exists);
        }
        let of_itself = fork_chat_once(&*store, scope, &chat_id, new).await;
        assert!(matches!(of_itself, Err(StoreError::ChatExists(_))), "{of_itself:?}");
        assert_eq!(fork.whole().await, before);
    }
}

pub async fn exactly_one_of_sixteen_racing_forks_under_one_id_wins(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let chat_id = ChatId::mint(&Uuid7Ids);
    let rivals = (0..16).map(|n| {
        let (source, chat_id) = (source.clone(), chat_id.clone());
        async move {
            let fork = NewFork { chat_id: Some(chat_id), sequence: Some(n), ..NewFork::default() };
            source.fork(fork).await.map(|_| n)
        }
    });
    let answers = race(rivals).await;
    let won: Vec<u64> = answers.iter().filter_map(|answer| answer.as_ref().ok()).copied().collect();
    let exists = StoreError::ChatExists(chat_id.clone());
    for lost in answers.into_iter().filter(Result::is_err) {
        assert_refused(lost, &exists);
    }
    let fork = TestChat { id: chat_id, ..source };
    assert_eq!(vec![fork.session().await.last_sequence], won);
}

pub async fn forks_of_a_chat_under_writes_are_whole_and_stay_unchanged(store: Arc<dyn Store>) {
    let source = long_chat(&store).await;
    let writers = (0..4).map(|writer: u64| {
        let source = source.clone();
        async move {
            for n in 0..15 {
                source.append([message(json!([writer, n]))]).await.unwrap();
                let sequence = (writer * 97 + n * 31) % 330;
                match source.update_message(sequence, new_content(json!([writer, n]))).await {
                    Ok(_) | Err(StoreError::MessageNotFound { .. }) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            Vec::new()
        }
    });
    let forkers = (0..3).map(|n: u64| {
        let source = source.clone();
        async move {
            let mut forks = Vec::new();
            for round in 0..5 {
                let sequence = (round % 2 == 0).then_some(100 * (n + 1));
                let fork = source.fork(NewFork { sequence, ..NewFork::default() }).await.unwrap();
                let messages = fork.history().await.unwrap();
                assert_eq!(messages.len() as u64, fork.session().await.last_sequence);
                forks.push((fork, messages));
            }
            forks
        }
    });
    let work: Vec<_> = writers.map(futures::FutureExt::boxed).collect();
    let forking = forkers.map(futures::FutureExt::boxed);
    let forks: Vec<(TestChat, Vec<Message>)> =
        race(work.into_iter().chain(forking)).await.into_iter().flatten().collect();
    let messages = source.history().await.unwrap();
    assert_dense(&messages);
    assert_eq!(messages.len(), 320 + 60);
    for (fork, expected) in &forks {
        assert_dense(expected);
        assert!(fork.history().await.unwrap() == *expected, "{} has changed", fork.id);
        let [ids, of_source] = [&expected[..], &messages[..expected.len()]].map(ids);
        assert_eq!(ids, of_source);
    }
}

pub async fn a_fork_is_counted_as_a_chat_of_its_workflow(store: Arc<dyn Store>) {
    let source = TestChat::create(&store).await;
    let workflow_name = source.session().await.workflow_name;
    source.fork(NewFork::default()).await.unwrap();
    let stats = store.workflow_stats(&source.scope.app_id, &workflow_name).await.unwrap();
    assert_eq!(stats.total.chats(), 2);
}

/// Creates a chat of 320 messages, `e0` to `e319`, whose content is their sequence.
async fn long_chat(store: &Arc<dyn Store>) -> TestChat {
    let chat = TestChat::create(store).await;
    for start in (0..320).step_by(20) {
        let batch = (start..start + 20).map(|n| event(&format!("e{n}"), n));
        chat.append(batch).await.unwrap();
    }
    chat
}

/// Asserts that every way to read the chat returns these messages.
async fn assert_same(chat: &TestChat, expected: &[Message]) {
    assert!(chat.history().await.unwrap() == expected, "the history of {} differs", chat.id);
    let end = expected.len() as u64;
    for (after, limit) in [(None, usize::MAX), (Some(20), 300), (Some(31), 1), (Some(290), 40)] {
        let range = MessageRange::Oldest { after, before: None, limit };
        assert_range(chat, range, expected).await;
    }
    for (before, limit) in [(None, 70), (None, usize::MAX), (Some(33), 2), (Some(end), 10)] {
        assert_range(chat, MessageRange::Newest { before, limit }, expected).await;
    }
    assert_resumes(chat).await;
    for message in expected.iter().step_by(29).chain(expected.last()) {
        assert_eq!(chat.get_message(message.sequence).await.unwrap(), *message);
    }
}

/// Asserts that resuming a chat returns its messages.
async fn assert_resumes(chat: &TestChat) {
    let mut resumed = chat.store.resume_state(&chat.scope, &chat.id).await.unwrap();
    let messages: Vec<_> = one_by_one(resumed.messages.pages()).try_collect().await.unwrap();
    assert!(
        messages == chat.history().await.unwrap(),
        "the resumed messages of {} differ",
        chat.id
    );
}

async fn assert_range(chat: &TestChat, range: MessageRange, expected: &[Message]) {
    let (span, has_more) = range.resolve(expected.len() as u64);
    let page = chat.messages(range).await.unwrap();
    assert_eq!(page.last_sequence, expected.len() as u64);
    let expected = expected.get(index(span.start)..index(span.end)).unwrap_or_default();
    assert!(page.messages == expected, "{range:?}");
    assert_eq!(page.has_more, has_more, "{range:?}");
}

/// Edits or deletes messages.
async fn change(chat: &TestChat, sequences: impl IntoIterator<Item = u64>, deletes: bool) {
    for sequence in sequences {
        if deletes {
            chat.delete_message(sequence).await.unwrap();
        } else {
            let content = new_content(format!("changed in {}", chat.id));
            chat.update_message(sequence, content).await.unwrap();
        }
    }
}

/// Asserts that after `end` the fork holds only its own messages, and none of the source.
async fn fork_ends(fork: &TestChat, end: usize) {
    let messages = fork.history().await.unwrap();
    let own = contents(&messages[end..]);
    assert!(own.iter().all(|content| content.as_str().unwrap().starts_with("filler")), "{own:?}");
}

fn linked(id: &str, call: &str) -> NewMessage {
    let mut body = MessageBody::new("assistant", Some("planner"), "linked");
    body.extra.insert(MessageBody::PRODUCED_BY.to_owned(), json!(call));
    NewMessage { body, ..event(id, "linked") }
}

/// Returns the calls that messages name as their origin, without messages that name none.
async fn link_of(chat: &TestChat) -> Vec<Value> {
    let messages = chat.history().await.unwrap().into_iter();
    messages
        .filter_map(|message| message.body.extra.get(MessageBody::PRODUCED_BY).cloned())
        .collect()
}

async fn delete_call(chat: &TestChat, call: &str) {
    let call_id = CallId::parse(call).unwrap();
    chat.store.delete_call(&chat.scope, &chat.id, &call_id).await.unwrap();
}

fn ids(messages: &[Message]) -> Vec<String> {
    messages.iter().map(|message| message.event_id.to_string()).collect()
}

fn index(sequence: u64) -> usize {
    usize::try_from(sequence).unwrap()
}
