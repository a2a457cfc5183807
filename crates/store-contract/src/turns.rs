//! Turns, written once at their end, and their resume points.

use std::sync::Arc;

use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    ChatStatus, JsonObject, LastTurn, MessageBody, NewFork, NewTurn, ResumePoint, SizeLimit,
    StackFrame, StackId, Step, StepKind, StepStatus, TurnId, TurnMessage, TurnOutcome,
};
use serde_json::{Value, json};

use super::fixture::{
    TestChat, a_moment_passes, assert_dense, assert_invalid, assert_refused, contents, event,
    message, numbered, object, race,
};
use persistence::{
    AppendedTurn, MessageRange, Outcome, ResumePointCursor, ResumePointFilter, ResumePointPage,
    Store, StoreError,
};

pub async fn a_turn_is_written_whole_and_recorded_in_its_chat(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..2)).await.unwrap();
    let new = NewTurn {
        connector: Some("deepseek.v3".to_owned()),
        mode: Some("task".to_owned()),
        ..turn("r1", ["hello", "hi"])
    };
    let written = write(&chat, new).await.unwrap();
    assert_eq!((written.outcome, written.resume_points), (Outcome::Stored, 0));
    assert_eq!((written.last_sequence, written.request_id), (4, id("r1")));
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    assert_eq!(contents(&messages)[2..], [json!("hello"), json!("hi")]);
    assert!(messages[2..].iter().all(|message| message.body.extra["request_id"] == "r1"));
    let given: Vec<_> = written.messages.iter().map(|message| &message.event_id).collect();
    assert_eq!(given, messages[2..].iter().map(|message| &message.event_id).collect::<Vec<_>>());
    let session = chat.session().await;
    assert_eq!(session.last_connector.as_deref(), Some("deepseek.v3"));
    assert_eq!(session.last_mode.as_deref(), Some("task"));
    assert_eq!(session.last_message_at, Some(messages[3].created_at));
    assert_eq!(session.last_turn, Some(last("r1", TurnOutcome::Completed, 1)));

    write(&chat, turn("r2", ["more"])).await.unwrap();
    let session = chat.session().await;
    assert_eq!(session.last_turn, Some(last("r2", TurnOutcome::Completed, 2)));
    assert_eq!(
        session.last_connector.as_deref(),
        Some("deepseek.v3"),
        "unchanged without a connector"
    );

    let mut named = turn("r3", ["one", "two"]);
    for (message, connector) in named.messages.iter_mut().zip(["a", "b"]) {
        message.body.extra.insert(MessageBody::CONNECTOR.to_owned(), connector.into());
    }
    write(&chat, named.clone()).await.unwrap();
    assert_eq!(chat.session().await.last_connector.as_deref(), Some("b"), "of its last message");
    let named =
        NewTurn { connector: Some("c".to_owned()), ..NewTurn { request_id: id("r4"), ..named } };
    write(&chat, named).await.unwrap();
    assert_eq!(chat.session().await.last_connector.as_deref(), Some("c"), "the turn decides");
}

pub async fn a_repeated_turn_gets_the_first_answer(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let broken = || NewTurn { steps: nested(), ..broken("r1", ["hello", "hello"]) };
    let first = write(&chat, broken()).await.unwrap();
    assert_eq!((first.messages.len(), first.resume_points), (2, 2));
    chat.append_filler().await;
    let later = write(&chat, turn("r2", ["done"])).await.unwrap();
    let again = write(&chat, broken()).await.unwrap();
    assert_eq!((again.outcome, again.resume_points), (Outcome::Duplicate, 2));
    assert_eq!(places(&again), places(&first));
    assert_eq!(chat.session().await.last_sequence, later.last_sequence);
    assert_eq!(chat.session().await.last_turn.unwrap().request_id, id("r2"));
    assert_eq!(points(&chat).await.len(), 2);
    // The same holds after the chat has ended.
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    assert_eq!(places(&write(&chat, broken()).await.unwrap()), places(&first));
    let ended = StoreError::ChatEnded { chat_id: chat.id.clone(), status: ChatStatus::Completed };
    assert_refused(write(&chat, turn("r3", ["late"])).await, &ended);
}

pub async fn a_repeated_turn_with_other_content_conflicts(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = || NewTurn { steps: nested(), ..broken("r1", ["hello", "hi"]) };
    write(&chat, first()).await.unwrap();
    let before = (chat.whole().await, points(&chat).await);
    let mut others = vec![
        NewTurn { outcome: TurnOutcome::Failed, ..first() },
        NewTurn { outcome: TurnOutcome::Completed, ..first() },
        NewTurn { mode: Some("chat".to_owned()), ..first() },
        NewTurn { steps: Vec::new(), ..first() },
        NewTurn { steps: nested(), ..broken("r1", ["hello"]) },
        NewTurn { steps: nested(), ..broken("r1", ["hello", "hi", "more"]) },
        NewTurn { steps: nested(), ..broken("r1", ["hello", "ho"]) },
    ];
    others.push(first());
    others.last_mut().unwrap().steps[4].input = Some(object(json!({"messages": [1]})));
    for other in others {
        let answer = write(&chat, other.clone()).await;
        assert!(matches!(answer, Err(StoreError::TurnConflict { .. })), "{other:?}: {answer:?}");
    }
    assert_eq!((chat.whole().await, points(&chat).await), before);
}

pub async fn only_unfinished_steps_are_kept(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    write(&chat, NewTurn { steps: nested(), ..turn("done", ["a"]) }).await.unwrap();
    assert_eq!(points(&chat).await, []);
    write(&chat, NewTurn { steps: nested(), ..broken("r1", ["b"]) }).await.unwrap();
    let kept = points(&chat).await;
    let all = nested();
    let expected = |sequence: u32, status| ResumePoint {
        chat_id: chat.id.clone(),
        request_id: id("r1"),
        turn: 2,
        sequence,
        step: Step { status, ..all[sequence as usize - 1].clone() },
        // The path of the last step names all its callers.
        stack_path: if sequence > 3 { vec![stack("stk_001"), stack("stk_002")] } else { vec![] },
        created_at: kept[0].created_at,
    };
    let interrupted = StepStatus::Interrupted;
    assert_eq!(kept, [expected(3, interrupted), expected(5, interrupted)]);
    // A failed step is kept as failed, also in a turn that failed.
    let mut steps = nested();
    steps[4].status = StepStatus::Failed;
    steps[4].error = Some("the model is unavailable".to_owned());
    let failed = NewTurn { outcome: TurnOutcome::Failed, steps, ..turn("r2", ["c"]) };
    write(&chat, failed).await.unwrap();
    let last = store.last_resume_point(&chat.scope, &chat.id).await.unwrap().unwrap();
    assert_eq!((last.turn, last.sequence, last.step.status), (3, 5, StepStatus::Failed));
    assert_eq!(last.step.error.as_deref(), Some("the model is unavailable"));
}

pub async fn resume_points_are_listed_by_turn_and_deleted(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let step = || Step::new(StepKind::Llm, StackFrame::root(stack("stk_long")));
    // This turn has more steps than the next one, but the next one is still the last.
    let long = NewTurn { steps: vec![step(); 9], ..broken("long", ["a"]) };
    write(&chat, long).await.unwrap();
    write(&chat, NewTurn { steps: nested(), ..broken("short", ["b"]) }).await.unwrap();
    let all = points(&chat).await;
    assert_eq!(all.len(), 11);
    assert!(all.is_sorted_by_key(|point| (point.turn, point.sequence)));
    let last = store.last_resume_point(&chat.scope, &chat.id).await.unwrap();
    assert_eq!(last.as_ref(), all.last());
    assert_eq!(last.unwrap().request_id, id("short"));

    let listed = async |filter| {
        let page = store.list_resume_points(&chat.scope, &chat.id, &filter, 100, None);
        page.await
            .unwrap()
            .points
            .into_iter()
            .map(|point| (point.turn, point.sequence))
            .collect::<Vec<_>>()
    };
    let of_turn = ResumePointFilter { request_id: Some(id("short")), ..Default::default() };
    assert_eq!(listed(of_turn.clone()).await, [(2, 5), (2, 3)]);
    let of_stack = ResumePointFilter { stack_id: Some(stack("stk_002")), ..Default::default() };
    assert_eq!(listed(of_stack).await, [(2, 5)]);
    let neither = ResumePointFilter { stack_id: Some(stack("stk_long")), ..of_turn };
    assert_eq!(listed(neither).await, []);

    let delete = async |request_id: Option<&TurnId>| {
        store.delete_resume_points(&chat.scope, &chat.id, request_id).await.unwrap()
    };
    assert_eq!(delete(Some(&id("short"))).await, 2);
    assert_eq!(delete(Some(&id("short"))).await, 0);
    assert_eq!(points(&chat).await.len(), 9);
    assert_eq!(delete(None).await, 9);
    assert_eq!(store.last_resume_point(&chat.scope, &chat.id).await.unwrap(), None);
}

pub async fn resume_points_come_in_pages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let step = |bytes: usize| {
        let input = JsonObject::from_iter([("text".to_owned(), "x".repeat(bytes).into())]);
        let frame = StackFrame::root(stack("stk_001"));
        Step { input: Some(input), ..Step::new(StepKind::Tool, frame) }
    };
    // More resume points than fit into one page.
    let large = NewTurn { steps: vec![step(3 << 20), step(3 << 20), step(1)], ..broken("r1", []) };
    let larger = NewTurn { steps: vec![step(5 << 20), step(1)], ..broken("r2", []) };
    for turn in [large, larger] {
        write(&chat, turn).await.unwrap();
    }
    let everything = ResumePointFilter::default();
    for limit in [1, 2, 3, 5, 100] {
        let (mut found, mut cursor) = (Vec::new(), None);
        loop {
            let page = store.list_resume_points(&chat.scope, &chat.id, &everything, limit, cursor);
            let ResumePointPage { points, next } = page.await.unwrap();
            assert!((1..=limit).contains(&points.len()));
            assert_eq!(next, next.and(points.last().map(ResumePointCursor::after)));
            found.extend(points.into_iter().map(|point| (point.turn, point.sequence)));
            match next {
                Some(next) => cursor = Some(next),
                None => break,
            }
        }
        assert_eq!(found, [(2, 2), (2, 1), (1, 3), (1, 2), (1, 1)], "{limit}");
    }
}

pub async fn a_turn_may_consist_of_steps_only(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let silent = || NewTurn { steps: nested(), ..broken("r1", []) };
    let first = write(&chat, silent()).await.unwrap();
    assert_eq!((first.outcome, first.last_sequence, first.resume_points), (Outcome::Stored, 0, 2));
    let again = write(&chat, silent()).await.unwrap();
    assert_eq!(again, AppendedTurn { outcome: Outcome::Duplicate, ..first });
    let request_id = id("r1");
    let conflict = StoreError::TurnConflict { chat_id: chat.id.clone(), request_id };
    let other = NewTurn { outcome: TurnOutcome::Failed, ..silent() };
    assert_refused(write(&chat, other).await, &conflict);
    assert_eq!(points(&chat).await.len(), 2);
    assert_eq!(chat.session().await.last_turn.unwrap().turn, 1);
    assert_eq!(chat.session().await.last_message_at, None);
}

/// A person with the permission `say` chooses which turn a message names. Its deletion removes nothing of that turn.
pub async fn what_is_said_after_a_turn_takes_no_resume_points_with_it(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    write(&chat, NewTurn { steps: nested(), ..broken("r1", ["a"]) }).await.unwrap();
    a_moment_passes().await;
    let mut said = MessageBody::new("user", Some("bob"), "more");
    said.extra.insert(MessageBody::REQUEST_ID.to_owned(), "r1".into());
    chat.append(vec![said.into()]).await.unwrap();
    store.delete_message(&chat.scope, &chat.id, 1).await.unwrap();
    assert_eq!(points(&chat).await.len(), 2);
    store.delete_message(&chat.scope, &chat.id, 0).await.unwrap();
    assert_eq!(points(&chat).await, []);
}

pub async fn a_turn_id_is_used_once_with_or_without_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let silent = || NewTurn { steps: nested(), ..broken("r1", []) };
    let said = || turn("r2", ["a"]);
    write(&chat, silent()).await.unwrap();
    write(&chat, said()).await.unwrap();
    for other in [
        turn("r1", ["a"]),
        NewTurn { steps: nested(), ..broken("r1", ["a"]) },
        NewTurn { steps: nested(), ..broken("r2", []) },
    ] {
        let request_id = other.request_id.clone();
        let conflict = StoreError::TurnConflict { chat_id: chat.id.clone(), request_id };
        assert_refused(write(&chat, other).await, &conflict);
    }
    // The turn is recognised without its resume points.
    store.delete_resume_points(&chat.scope, &chat.id, None).await.unwrap();
    assert_eq!(write(&chat, silent()).await.unwrap().outcome, Outcome::Duplicate);
    assert_eq!(write(&chat, said()).await.unwrap().outcome, Outcome::Duplicate);
    assert_eq!(points(&chat).await, []);
    assert_eq!(chat.session().await.last_turn.unwrap().turn, 2);
}

/// The turn id is never reused, even after many other turns and without resume points.
pub async fn a_turn_without_messages_is_always_recognised(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let silent = || NewTurn { steps: nested(), ..broken("silent", []) };
    write(&chat, silent()).await.unwrap();
    for n in 0..20 {
        write(&chat, turn(&format!("r{n}"), ["a"])).await.unwrap();
    }
    for are_deleted in [false, true] {
        if are_deleted {
            store.delete_resume_points(&chat.scope, &chat.id, None).await.unwrap();
        }
        let again = write(&chat, silent()).await.unwrap();
        assert_eq!((again.outcome, again.resume_points), (Outcome::Duplicate, 2));
        let many = (0..1_500).map(|n| said(&n.to_string())).collect();
        for other in [
            NewTurn { outcome: TurnOutcome::Failed, ..silent() },
            turn("silent", ["a"]),
            NewTurn { steps: nested(), ..broken("silent", ["a"]) },
            NewTurn { messages: many, ..turn("silent", []) },
        ] {
            let request_id = other.request_id.clone();
            let conflict = StoreError::TurnConflict { chat_id: chat.id.clone(), request_id };
            assert_refused(write(&chat, other).await, &conflict);
        }
    }
    assert_eq!(points(&chat).await, []);
    let session = chat.session().await;
    assert_eq!((session.last_sequence, session.last_turn.unwrap().turn), (20, 21));
    // Other turns are still written.
    write(&chat, turn("r20", ["a"])).await.unwrap();
    write(&chat, NewTurn { steps: nested(), ..broken("silent 2", []) }).await.unwrap();
    assert_eq!(chat.session().await.last_turn.unwrap().turn, 23);
}

pub async fn a_fork_recognises_the_turns_of_its_inherited_messages(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    write(&chat, turn("r1", ["a"])).await.unwrap();
    write(&chat, NewTurn { steps: nested(), ..broken("r2", []) }).await.unwrap();
    let fork = store.fork_chat(&chat.scope, &chat.id, NewFork::default()).await.unwrap();
    let (scope, id) = (&chat.scope, &fork.chat_id);
    let again = store.append_turn(scope, id, turn("r1", ["a"])).await.unwrap();
    assert_eq!(again.outcome, Outcome::Duplicate);
    let silent = NewTurn { steps: nested(), ..broken("r1", []) };
    let request_id = silent.request_id.clone();
    let conflict = StoreError::TurnConflict { chat_id: id.clone(), request_id };
    assert_refused(store.append_turn(scope, id, silent).await, &conflict);
    // The fork did not inherit the turn without messages.
    let other = store.append_turn(scope, id, turn("r2", ["b"])).await.unwrap();
    assert_eq!(other.outcome, Outcome::Stored);
}

pub async fn a_deleted_message_of_a_turn_takes_the_unfinished_steps_with_it(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for (turn, is_sealed) in [("r1", false), ("r2", true)] {
        let broken = NewTurn { steps: nested(), ..broken(turn, ["a", "b"]) };
        let written = write(&chat, broken).await.unwrap();
        write(&chat, NewTurn { steps: nested(), ..self::broken("other", []) }).await.unwrap();
        if is_sealed {
            chat.append_filler().await;
        }
        chat.delete_message(written.messages[1].sequence).await.unwrap();
        let left = points(&chat).await;
        assert!(!left.is_empty() && left.iter().all(|it| it.request_id.as_str() == "other"));
    }
}

pub async fn every_field_of_a_step_is_returned(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let tricky = || object(json!({"a.b": {"$set": [1, null, "x"]}, "": {"$oid": "zz"}}));
    let root = StackFrame::root(stack("s$1"));
    let step = Step {
        kind: StepKind::Delegate,
        status: StepStatus::Failed,
        assistant_id: Some("viz.$ualizer".to_owned()),
        frame: root.call(stack("s 2")),
        input: Some(tricky()),
        output: Some(tricky()),
        space_snapshot: tricky(),
        error: Some("a\nb".to_owned()),
        metadata: tricky(),
    };
    write(&chat, NewTurn { steps: vec![step.clone()], ..broken("r1", ["a"]) }).await.unwrap();
    assert_eq!(points(&chat).await[0].step, step);
}

pub async fn a_turn_past_a_limit_is_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let with = |change: fn(&mut NewTurn)| {
        let mut turn = NewTurn { steps: nested(), ..broken("r1", ["a", "b"]) };
        change(&mut turn);
        turn
    };
    let empty = with(|turn| (turn.messages, turn.steps) = Default::default());
    assert_invalid(write(&chat, empty).await, "/messages", NotAdmitted);
    let faulty = with(|turn| turn.messages[1].body.role = String::new());
    assert_invalid(write(&chat, faulty).await, "/messages/1/role", NotAdmitted);
    let many = with(|turn| turn.messages = vec![said("x"); NewTurn::MAX_MESSAGES + 1]);
    assert_invalid(write(&chat, many).await, "/messages", TooLarge(SizeLimit::Batch));
    let many = with(|turn| turn.steps = vec![turn.steps[0].clone(); NewTurn::MAX_STEPS + 1]);
    assert_invalid(write(&chat, many).await, "/steps", TooLarge(SizeLimit::Batch));
    let orphan = with(|turn| turn.steps[4].frame.parent_id = None);
    assert_invalid(write(&chat, orphan).await, "/steps/4/stack_depth", NotAdmitted);
    let own = with(|turn| turn.steps[4].frame.parent_id = Some(stack("stk_002")));
    assert_invalid(write(&chat, own).await, "/steps/3/stack_parent_id", NotAdmitted);
    let deep = with(|turn| turn.steps[4].frame.depth = NewTurn::MAX_STACK_DEPTH + 1);
    assert_invalid(write(&chat, deep).await, "/steps/4/stack_depth", NotAdmitted);
    let nameless = with(|turn| turn.mode = Some(String::new()));
    assert_invalid(write(&chat, nameless).await, "/mode", NotAdmitted);
    let large = with(|turn| {
        let text = Value::from("x".repeat(1 << 20));
        turn.steps = vec![turn.steps[2].clone(); 9];
        for step in &mut turn.steps {
            step.input = Some(JsonObject::from_iter([("text".to_owned(), text.clone())]));
        }
    });
    assert_invalid(write(&chat, large).await, "/steps", TooLarge(SizeLimit::Batch));
    assert_eq!(chat.session().await.last_turn, None);
    assert_eq!(chat.history().await.unwrap(), []);
}

pub async fn racing_repeats_of_a_turn_write_it_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for (request, outcome) in [("r1", TurnOutcome::Completed), ("r2", TurnOutcome::Failed)] {
        let racing = (0..8).map(|_| {
            let chat = chat.clone();
            async move {
                let new = NewTurn { outcome, steps: nested(), ..turn(request, ["a", "b", "c"]) };
                write(&chat, new).await.unwrap()
            }
        });
        let answers = race(racing).await;
        let stored = answers.iter().filter(|answer| answer.outcome == Outcome::Stored).count();
        assert_eq!(stored, 1);
        assert!(answers.iter().all(|answer| places(answer) == places(&answers[0])));
    }
    assert_dense(&chat.history().await.unwrap());
    assert_eq!(chat.session().await.last_sequence, 6);
    assert_eq!((chat.session().await.last_turn.unwrap().turn, points(&chat).await.len()), (2, 2));
}

/// Turns race with appends and with unfinished turns. Readers see each turn whole or not at all.
pub async fn readers_see_racing_turns_whole_or_not_at_all(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let writers = (0..4_usize).map(|writer| {
        let chat = chat.clone();
        async move {
            for n in 0..8_usize {
                let size = [1, 5, 40, 3][(writer + n) % 4];
                let name = format!("{writer}-{n}");
                let messages = (0..size).map(|_| said(&name)).collect();
                let outcome = TurnOutcome::ALL[n % 3];
                let new = NewTurn { outcome, messages, steps: nested(), ..turn(&name, []) };
                write(&chat, new).await.unwrap();
                chat.append([message(n)]).await.unwrap();
            }
        }
    });
    let reading = async {
        for _ in 0..20 {
            let seen = chat.messages(MessageRange::all()).await.unwrap();
            assert_whole(&seen.messages);
        }
    };
    tokio::join!(race(writers), reading);
    let messages = chat.history().await.unwrap();
    assert_whole(&messages);
    assert_dense(&messages);
    let session = chat.session().await;
    assert_eq!(session.last_turn.unwrap().turn, 32);
    assert_eq!(messages.len(), 2 * (4 * (1 + 5 + 40 + 3)) + 32);
}

/// The turn is larger than an append may be, and the tail is not empty.
pub async fn a_turn_larger_than_an_append_is_written_whole(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..5)).await.unwrap();
    let text = "x".repeat(100_000);
    let messages: Vec<_> = (0..120).map(|n| said(&format!("{n} {text}"))).collect();
    let large = || NewTurn { messages: messages.clone(), steps: nested(), ..broken("r1", []) };
    let written = write(&chat, large()).await.unwrap();
    assert_eq!((written.last_sequence, written.resume_points), (125, 2));
    assert_eq!(places(&write(&chat, large()).await.unwrap()), places(&written));
    let many: Vec<_> = (0..1_500).map(|n| said(&n.to_string())).collect();
    write(&chat, NewTurn { messages: many, ..turn("r2", []) }).await.unwrap();
    chat.append([event("after", "after")]).await.unwrap();
    let read = chat.history().await.unwrap();
    assert_dense(&read);
    assert_eq!(read.len(), 5 + 120 + 1_500 + 1);
    assert_eq!(read[124].body.content, json!(format!("119 {text}")));
    assert_eq!(read[125].body.content, "0");
    assert_eq!(chat.append([event("after", "after")]).await.unwrap().messages[0].sequence, 1_625);
}

pub async fn a_turn_is_fenced_like_any_write(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let late = chat.seen_from(chat.scope.clone().fenced(3));
    let fenced = StoreError::Fenced { chat_id: chat.id.clone(), fencing_token: 3 };
    let many = (0..1_500).map(|n| said(&n.to_string())).collect();
    for new in [
        turn("r1", ["a"]),
        NewTurn { steps: nested(), ..broken("r2", ["a"]) },
        NewTurn { steps: nested(), ..broken("r3", []) },
        NewTurn { messages: many, ..turn("r4", []) },
    ] {
        assert_refused(write(&late, new).await, &fenced);
    }
    write(&chat, NewTurn { steps: nested(), ..broken("r2", ["a"]) }).await.unwrap();
    let deleted = store.delete_resume_points(&late.scope, &chat.id, None).await;
    assert_refused(deleted, &fenced);
    assert_eq!((chat.session().await.last_sequence, points(&chat).await.len()), (1, 2));
}

pub async fn turns_stay_within_their_scope(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    write(&chat, NewTurn { steps: nested(), ..broken("r1", ["a"]) }).await.unwrap();
    for elsewhere in [chat.seen_from(super::fixture::some_scope()), TestChat::unknown(&store)] {
        let unknown = StoreError::ChatNotFound(elsewhere.id.clone());
        let (scope, id) = (&elsewhere.scope, &elsewhere.id);
        let everything = ResumePointFilter::default();
        assert_refused(write(&elsewhere, turn("r2", ["b"])).await, &unknown);
        assert_refused(store.list_resume_points(scope, id, &everything, 100, None).await, &unknown);
        assert_refused(store.last_resume_point(scope, id).await, &unknown);
        assert_refused(store.delete_resume_points(scope, id, None).await, &unknown);
    }
    assert_eq!(points(&chat).await.len(), 2);
    // Another chat may have a turn with the same id.
    let other = TestChat::create_in(&chat.scope, &store, super::fixture::new_chat()).await;
    assert_eq!(write(&other, turn("r1", ["c"])).await.unwrap().outcome, Outcome::Stored);
}

fn assert_whole(messages: &[records::Message]) {
    let mut sizes = std::collections::BTreeMap::new();
    for message in messages {
        if let Some(request_id) = message.body.extra.get("request_id") {
            let (first, last) = sizes
                .entry(request_id.as_str().unwrap())
                .or_insert((message.sequence, message.sequence));
            assert!(message.sequence <= *last + 1, "{first}");
            *last = message.sequence;
        }
    }
    for (name, (first, last)) in sizes {
        let (writer, n) = name.split_once('-').unwrap();
        let index = writer.parse::<usize>().unwrap() + n.parse::<usize>().unwrap();
        assert_eq!(last - first + 1, [1, 5, 40, 3][index % 4], "{name}");
    }
}

fn id(text: &str) -> TurnId {
    TurnId::parse(text).unwrap()
}

fn stack(text: &str) -> StackId {
    StackId::parse(text).unwrap()
}

fn said(text: &str) -> TurnMessage {
    TurnMessage { body: MessageBody::new("assistant", Some("analyzer"), text), author: None }
}

fn turn<const N: usize>(request_id: &str, texts: [&str; N]) -> NewTurn {
    NewTurn {
        request_id: id(request_id),
        outcome: TurnOutcome::Completed,
        messages: texts.map(said).to_vec(),
        steps: Vec::new(),
        connector: None,
        mode: None,
    }
}

fn broken<const N: usize>(request_id: &str, texts: [&str; N]) -> NewTurn {
    NewTurn { outcome: TurnOutcome::Interrupted, ..turn(request_id, texts) }
}

/// The steps of an assistant that delegates to another, which calls its model.
fn nested() -> Vec<Step> {
    let analyzer = StackFrame::root(stack("stk_001"));
    let visualizer = analyzer.call(stack("stk_002"));
    let space = object(json!({"choose_prompt": "query"}));
    let step = |kind, frame: &StackFrame, status| Step {
        status,
        assistant_id: Some(if frame.depth == 0 { "analyzer" } else { "visualizer" }.to_owned()),
        input: Some(object(json!({"messages": [{"role": "user", "content": "analyze"}]}))),
        ..Step::new(kind, frame.clone())
    };
    let (done, underway) = (StepStatus::Completed, StepStatus::Running);
    let mut steps = vec![
        step(StepKind::Input, &analyzer, done),
        step(StepKind::Llm, &analyzer, done),
        step(StepKind::Delegate, &analyzer, underway),
        step(StepKind::Input, &visualizer, done),
        step(StepKind::Llm, &visualizer, underway),
    ];
    for step in &mut steps[2..] {
        step.space_snapshot.clone_from(&space);
    }
    steps
}

fn last(request_id: &str, outcome: TurnOutcome, turn: u64) -> LastTurn {
    LastTurn { request_id: id(request_id), outcome, turn }
}

fn places(turn: &AppendedTurn) -> Vec<u64> {
    turn.messages.iter().map(|message| message.sequence).collect()
}

async fn write(chat: &TestChat, turn: NewTurn) -> Result<AppendedTurn, StoreError> {
    chat.store.append_turn(&chat.scope, &chat.id, turn).await
}

async fn points(chat: &TestChat) -> Vec<ResumePoint> {
    let everything = ResumePointFilter::default();
    let page = chat.store.list_resume_points(&chat.scope, &chat.id, &everything, 1_000, None);
    let ResumePointPage { mut points, next } = page.await.unwrap();
    assert_eq!(next, None);
    points.reverse();
    points
}
