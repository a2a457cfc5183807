//! Questions of workflows, and their answers.

use std::sync::Arc;
use std::time::Duration;

use records::InvalidKind::{TooLarge, Value as NotAdmitted};
use records::{
    BoundToolCall, ChatId, ChatStatus, Closed, InputAnswer, InputKind, InputRequest,
    InputRequestId, Lifecycle, Limits, MemberRole, MessageBody, NewChatSession, NewInputAnswer,
    NewInputRequest, NewMessage, Question, Scope, SessionChange, SizeLimit, TeamId, UserId,
    Visibility,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::fixture::{
    TestChat, assert_dense, assert_invalid, assert_refused, event_id, message, new_chat,
    new_content, numbered, race,
};
use persistence::{
    AnsweredInput, InputCursor, InputPage, Outcome, PendingOrder, RequestedInput, Store, StoreError,
};

pub async fn a_question_pauses_its_chat_until_it_is_answered(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.append(numbered(0..3)).await.unwrap();
    let asked = ask(&chat, question("q1", "Why?")).await.unwrap();
    assert_eq!((asked.outcome, asked.request.state()), (Outcome::Stored, "pending"));
    let session = chat.session().await;
    assert_eq!(
        (session.status, session.status_reason.as_deref()),
        (ChatStatus::Paused, Some(InputRequest::PAUSE_REASON))
    );
    assert_eq!(session.pending_inputs, [id("q1")]);
    assert_eq!(get(&chat, "q1").await.unwrap(), asked.request);

    let answered = answer(&chat, "q1", "Because.").await.unwrap();
    let Closed::Answered(given) = &answered.request.closing.as_ref().unwrap().how else {
        panic!("{answered:?}");
    };
    assert_eq!(
        (given.content.clone(), given.name.as_str(), given.sequence),
        (json!("Because."), "user", 3)
    );
    assert_eq!((answered.append.last_sequence, answered.append.messages[0].sequence), (4, 3));
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    let mut body = MessageBody::new("user", Some("user"), "Because.");
    body.metadata = json!({"input_request_id": "q1"}).as_object().cloned();
    assert_eq!((&messages[3].body, &messages[3].event_id), (&body, &given.event_id));
    let session = chat.session().await;
    assert_eq!((session.status, session.status_reason), (ChatStatus::Running, None));
    assert_eq!(session.pending_inputs, []);
    assert_eq!(get(&chat, "q1").await.unwrap(), answered.request);
    let stats = store.workflow_stats(&session.app_id, &session.workflow_name).await.unwrap();
    let moves = [records::Counter::Pauses, records::Counter::Resumptions];
    assert_eq!(moves.map(|counter| stats.total.count(counter)), [1, 1]);
}

pub async fn a_deleted_answer_is_gone_from_its_question(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for (asked, is_sealed) in [("q1", false), ("q2", true)] {
        ask(&chat, question(asked, "Why?")).await.unwrap();
        let answered = answer(&chat, asked, "secret").await.unwrap();
        if is_sealed {
            chat.append_filler().await;
        }
        chat.delete_message(answered.append.messages[0].sequence).await.unwrap();
        let Closed::Answered(given) = get(&chat, asked).await.unwrap().closing.unwrap().how else {
            panic!("{asked} is not answered");
        };
        let sequence = answered.append.messages[0].sequence;
        assert_eq!((given.content, given.sequence), (Value::Null, sequence));
    }
}

pub async fn an_edited_answer_is_edited_in_its_question(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for (asked, is_sealed) in [("q1", false), ("q2", true)] {
        ask(&chat, question(asked, "Why?")).await.unwrap();
        let before = answer(&chat, asked, "my password").await.unwrap();
        if is_sealed {
            chat.append_filler().await;
        }
        let sequence = before.append.messages[0].sequence;
        let edited = json!([{"type": "text", "text": "…", "$set": {"a.b": 1}}]);
        chat.update_message(sequence, new_content(edited.clone())).await.unwrap();
        let Closed::Answered(given) = get(&chat, asked).await.unwrap().closing.unwrap().how else {
            panic!("{asked} is not answered");
        };
        let Closed::Answered(before) = before.request.closing.unwrap().how else {
            panic!("{asked} was not answered");
        };
        assert_eq!(given, InputAnswer { content: edited, ..before });
    }
}

pub async fn one_of_many_answers_wins_and_the_others_receive_it(store: Arc<dyn Store>) {
    const RIVALS: usize = 64;
    let chat = TestChat::create(&store).await;
    ask(&chat, question("q1", "Who?")).await.unwrap();
    let rivals = (0..RIVALS).map(|rival| {
        let chat = chat.clone();
        async move { (rival, answer(&chat, "q1", json!({ "rival": rival })).await) }
    });
    let mut winners = Vec::new();
    let mut shown = Vec::new();
    for (rival, answered) in race(rivals).await {
        match answered {
            Ok(answered) => winners.push((rival, answered.request)),
            Err(StoreError::InputClosed(request)) => shown.push(*request),
            Err(error) => panic!("{error}"),
        }
    }
    assert_eq!((winners.len(), shown.len()), (1, RIVALS - 1));
    let (winner, request) = &winners[0];
    assert!(shown.iter().all(|shown| shown == request));
    let messages = chat.history().await.unwrap();
    let contents: Vec<_> = messages.iter().map(|message| &message.body.content).collect();
    assert_eq!(contents, [&json!({ "rival": winner })]);
}

pub async fn racing_answers_and_appends_share_one_order(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    for n in 0..8 {
        ask(&chat, question(&format!("q{n}"), "?")).await.unwrap();
    }
    let racers = (0..24).map(|racer| {
        let chat = chat.clone();
        async move {
            if racer < 16 {
                drop(chat.append(numbered(0..2)).await.unwrap());
            } else {
                drop(answer(&chat, &format!("q{}", racer - 16), racer).await.unwrap());
            }
        }
    });
    race(racers).await;
    let messages = chat.history().await.unwrap();
    assert_dense(&messages);
    assert_eq!(messages.len(), 16 * 2 + 8);
    let session = chat.session().await;
    assert_eq!((session.status, session.pending_inputs), (ChatStatus::Running, Vec::new()));
}

pub async fn a_repeated_question_gets_its_current_state(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let first = ask(&chat, question("q1", "Why?")).await.unwrap();
    let again = ask(&chat, question("q1", "Why?")).await.unwrap();
    assert_eq!(again, RequestedInput { outcome: Outcome::Duplicate, ..first });
    let other = ask(&chat, question("q1", "How?")).await;
    let (chat_id, request_id) = (chat.id.clone(), id("q1"));
    assert_refused(other, &StoreError::InputConflict { chat_id, request_id });
    answer(&chat, "q1", "so").await.unwrap();
    let again = ask(&chat, question("q1", "Why?")).await.unwrap();
    assert_eq!(again.request.state(), "answered");
    assert_eq!(chat.session().await.status, ChatStatus::Running, "nothing was asked");
    // Two questions without ids are different questions.
    let unnamed = NewInputRequest { request_id: None, ..question("", "Why?") };
    let one = ask(&chat, unnamed.clone()).await.unwrap().request.request_id;
    let other = ask(&chat, unnamed).await.unwrap().request.request_id;
    assert!(one != other && one.as_str().starts_with("input_"));
}

pub async fn a_repeated_answer_gets_the_first_result(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    ask(&chat, question("q1", "Why?")).await.unwrap();
    let named = |content: &str| NewInputAnswer {
        event_id: Some(event_id("a1")),
        ..NewInputAnswer::of(content)
    };
    let first = give(&chat, "q1", named("so")).await.unwrap();
    chat.append([message("more")]).await.unwrap();
    let again = give(&chat, "q1", named("so")).await.unwrap();
    assert_eq!(again.request, first.request);
    let repeated = &again.append.messages[0];
    assert_eq!((repeated.sequence, repeated.outcome), (0, Outcome::Duplicate));
    let other = give(&chat, "q1", named("otherwise")).await;
    assert!(matches!(other, Err(StoreError::EventConflict { sequence: 0, .. })));
    assert_eq!(chat.history().await.unwrap().len(), 2);
    // The client may append the message before it sends it as an answer.
    ask(&chat, question("q2", "Why?")).await.unwrap();
    let answer = named("early");
    let answer = NewInputAnswer { event_id: Some(event_id("a2")), ..answer };
    let early: NewMessage = answer.message(&id("q2"), None);
    chat.append([early]).await.unwrap();
    let answered = give(&chat, "q2", answer).await.unwrap();
    assert_eq!(answered.append.messages[0].sequence, 2);
    assert_eq!((chat.history().await.unwrap().len(), answered.request.state()), (3, "answered"));
}

pub async fn an_answer_must_match_its_question(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let choice = Question {
        kind: InputKind::Choice,
        options: vec!["a".to_owned(), "b".to_owned()],
        ..Question::of("Which?")
    };
    ask(&chat, NewInputRequest { question: choice, ..question("q1", "") }).await.unwrap();
    let confirm = Question { kind: InputKind::Confirm, ..Question::of("Sure?") };
    ask(&chat, NewInputRequest { question: confirm, ..question("q2", "") }).await.unwrap();
    let before = chat.whole().await;
    for (request, content) in [("q1", json!("c")), ("q2", json!("true")), ("q1", Value::Null)] {
        assert_invalid(answer(&chat, request, content).await, "/content", NotAdmitted);
    }
    let large = "x".repeat(Limits::MESSAGE_BYTES + 1);
    assert_invalid(answer(&chat, "q1", large).await, "/content", TooLarge(SizeLimit::Message));
    let nameless = NewInputAnswer { name: Some("\n".to_owned()), ..NewInputAnswer::of("a") };
    assert_invalid(give(&chat, "q1", nameless).await, "/name", NotAdmitted);
    let missing = answer(&chat, "q3", "a").await;
    let (chat_id, request_id) = (chat.id.clone(), id("q3"));
    assert_refused(missing, &StoreError::InputNotFound { chat_id, request_id });
    assert_eq!(chat.whole().await, before);
    answer(&chat, "q1", "b").await.unwrap();
    answer(&chat, "q2", false).await.unwrap();
}

pub async fn an_answer_for_other_arguments_is_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let call = BoundToolCall {
        id: "call_1".to_owned(),
        name: "delete_files".to_owned(),
        arguments: json!({"$set": ["/tmp/a"], "a.b": 1}),
    };
    let bound = Question { tool_call: Some(call.clone()), ..Question::of("May I?") };
    let asked = ask(&chat, NewInputRequest { question: bound, ..question("q1", "") }).await;
    assert_eq!(asked.unwrap().request.question.tool_call.as_ref(), Some(&call));
    ask(&chat, question("q2", "Why?")).await.unwrap();
    let before = chat.whole().await;
    let changed = |change: fn(&mut BoundToolCall)| {
        let mut call = call.clone();
        change(&mut call);
        Some(call.reference())
    };
    let others = [
        None,
        changed(|call| call.id.push('x')),
        changed(|call| call.name.push('x')),
        changed(|call| call.arguments["a.b"] = json!(2)),
    ];
    for tool_call in others {
        let answer = NewInputAnswer { tool_call, ..NewInputAnswer::of("yes") };
        let (chat_id, request_id) = (chat.id.clone(), id("q1"));
        let bound_to = Some("call_1".to_owned());
        let mismatch = StoreError::ToolCallMismatch { chat_id, request_id, bound_to };
        assert_refused(give(&chat, "q1", answer).await, &mismatch);
    }
    let for_this = || NewInputAnswer { tool_call: changed(|_| {}), ..NewInputAnswer::of("yes") };
    let unbound = give(&chat, "q2", for_this()).await;
    assert!(matches!(unbound, Err(StoreError::ToolCallMismatch { bound_to: None, .. })));
    assert_eq!(chat.whole().await, before);
    let event_id = Some(event_id("a1"));
    let named = || NewInputAnswer { event_id: event_id.clone(), ..for_this() };
    give(&chat, "q1", named()).await.unwrap();
    give(&chat, "q1", named()).await.unwrap();
    // A repeated answer is refused as well if it names no arguments.
    let other = NewInputAnswer { tool_call: None, ..named() };
    let other = give(&chat, "q1", other).await;
    assert!(matches!(other, Err(StoreError::ToolCallMismatch { .. })));
}

pub async fn a_question_is_cancelled_once(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    ask(&chat, question("q1", "Why?")).await.unwrap();
    ask(&chat, question("q2", "How?")).await.unwrap();
    let cancelled = cancel(&chat, "q1", Some("no longer of interest")).await.unwrap();
    let reason = Some("no longer of interest".to_owned());
    assert_eq!(cancelled.closing.as_ref().unwrap().how, Closed::Cancelled { reason });
    assert_eq!(cancel(&chat, "q1", None).await.unwrap(), cancelled);
    let late = answer(&chat, "q1", "so").await;
    assert_refused(late, &StoreError::InputClosed(Box::new(cancelled)));
    assert_eq!(chat.session().await.status, ChatStatus::Paused, "q2 is pending");
    let answered = answer(&chat, "q2", "so").await.unwrap().request;
    let late = cancel(&chat, "q2", None).await;
    assert_refused(late, &StoreError::InputClosed(Box::new(answered)));
    assert_eq!(chat.session().await.status, ChatStatus::Running);
}

pub async fn a_question_expires(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let short =
        |request: &str| NewInputRequest { expires_in_sec: Some(1), ..question(request, "Quick!") };
    for request in ["q1", "q2", "q3"] {
        ask(&chat, short(request)).await.unwrap();
    }
    let expires_at = get(&chat, "q1").await.unwrap().expires_at.unwrap();
    sleep(Duration::from_millis(1_100)).await;
    // No call has closed the question, but it has expired.
    let expired = get(&chat, "q1").await.unwrap();
    let closing = expired.closing.clone().unwrap();
    assert_eq!((closing.how, closing.at), (Closed::Expired, expires_at));
    let late = answer(&chat, "q1", "too late").await;
    assert_refused(late, &StoreError::InputClosed(Box::new(expired.clone())));
    assert!(matches!(cancel(&chat, "q2", None).await, Err(StoreError::InputClosed(_))));
    assert_eq!(chat.session().await.pending_inputs, [id("q3")]);
    while !chat.session().await.pending_inputs.is_empty() {
        store.expire_input_requests(100).await.unwrap();
    }
    assert_eq!(get(&chat, "q1").await.unwrap(), expired);
    assert_eq!(get(&chat, "q3").await.unwrap().state(), "expired");
    assert_eq!(chat.session().await.status, ChatStatus::Running);
    assert_eq!(chat.history().await.unwrap(), []);
}

pub async fn ending_a_chat_closes_its_questions(store: Arc<dyn Store>) {
    for status in [ChatStatus::Completed, ChatStatus::Failed] {
        let chat = TestChat::create(&store).await;
        ask(&chat, question("q1", "Why?")).await.unwrap();
        ask(&chat, question("q2", "How?")).await.unwrap();
        let short = NewInputRequest { expires_in_sec: Some(1), ..question("q3", "Quick!") };
        let expires_at = ask(&chat, short).await.unwrap().request.expires_at.unwrap();
        answer(&chat, "q1", "so").await.unwrap();
        sleep(Duration::from_millis(1_100)).await;
        let session = chat.set_status(status, Some("over")).await.unwrap();
        assert_eq!(session.pending_inputs, []);
        assert_eq!(chat.session().await, session);
        assert_eq!(get(&chat, "q1").await.unwrap().state(), "answered");
        let ended = get(&chat, "q2").await.unwrap();
        let closing = ended.closing.clone().unwrap();
        assert_eq!(closing.how, Closed::ChatEnded { status });
        assert_eq!(closing.at, session.last_updated_at);
        let overdue = get(&chat, "q3").await.unwrap().closing.unwrap();
        assert_eq!((overdue.how, overdue.at), (Closed::Expired, expires_at));
        assert_refused(answer(&chat, "q2", "so").await, &StoreError::InputClosed(Box::new(ended)));
        let chat_id = chat.id.clone();
        let refused = ask(&chat, question("q4", "Still?")).await;
        assert_refused(refused, &StoreError::ChatEnded { chat_id, status });
    }
}

pub async fn a_chat_paused_for_another_reason_stays_paused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    chat.set_status(ChatStatus::Paused, Some("lunch")).await.unwrap();
    ask(&chat, question("q1", "Why?")).await.unwrap();
    answer(&chat, "q1", "so").await.unwrap();
    let session = chat.session().await;
    assert_eq!(
        (session.status, session.status_reason.as_deref()),
        (ChatStatus::Paused, Some("lunch"))
    );
    // The same holds if the pause comes after the question.
    chat.set_status(ChatStatus::Running, None).await.unwrap();
    ask(&chat, question("q3", "Why?")).await.unwrap();
    let paused = chat.set_status(ChatStatus::Paused, Some("lunch")).await.unwrap();
    assert_eq!(paused.status_reason.as_deref(), Some("lunch"));
    assert_eq!(chat.set_status(ChatStatus::Paused, Some("tea")).await.unwrap(), paused);
    answer(&chat, "q3", "so").await.unwrap();
    assert_eq!(chat.session().await.status_reason.as_deref(), Some("lunch"));
    // A chat that a client sets to running still accepts the answer.
    chat.set_status(ChatStatus::Running, None).await.unwrap();
    ask(&chat, question("q2", "Why?")).await.unwrap();
    chat.set_status(ChatStatus::Running, None).await.unwrap();
    answer(&chat, "q2", "so").await.unwrap();
    assert_eq!(chat.session().await.status, ChatStatus::Running);
}

pub async fn questions_past_a_limit_are_refused(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let asked =
        |question: Question| NewInputRequest { request_id: None, question, expires_in_sec: None };
    let prompt = asked(Question::of("x".repeat(Limits::PROMPT_BYTES + 1)));
    assert_invalid(ask(&chat, prompt).await, "/prompt", TooLarge(SizeLimit::Question));
    assert_invalid(ask(&chat, asked(Question::of(" "))).await, "/prompt", NotAdmitted);
    let metadata = json!({"a": "x".repeat(Limits::METADATA_BYTES)}).as_object().cloned().unwrap();
    let metadata = asked(Question { metadata, ..Question::of("Why?") });
    assert_invalid(ask(&chat, metadata).await, "/metadata", TooLarge(SizeLimit::Metadata));
    let endless = NewInputRequest {
        expires_in_sec: Some(Limits::INPUT_EXPIRY_SEC + 1),
        ..asked(Question::of("Why?"))
    };
    assert_invalid(ask(&chat, endless).await, "/expires_in_sec", NotAdmitted);
    for _ in 0..InputRequest::MAX_PENDING {
        ask(&chat, asked(Question::of("Why?"))).await.unwrap();
    }
    let one_more = ask(&chat, asked(Question::of("Why?"))).await;
    assert_refused(one_more, &StoreError::TooManyInputs(chat.id.clone()));
    assert_eq!(chat.session().await.pending_inputs.len(), InputRequest::MAX_PENDING);
}

pub async fn rivals_ask_no_more_questions_than_a_chat_may_wait_for(store: Arc<dyn Store>) {
    const RIVALS: usize = 64;
    let chat = TestChat::create(&store).await;
    let rivals = (0..RIVALS).map(|rival| {
        let chat = chat.clone();
        async move { ask(&chat, question(&format!("q{rival}"), "Why?")).await }
    });
    let mut asked = 0;
    for result in race(rivals).await {
        match result {
            Ok(_) => asked += 1,
            Err(error) => assert!(matches!(error, StoreError::TooManyInputs(_)), "{error}"),
        }
    }
    let pending = chat.session().await.pending_inputs.len();
    assert_eq!((asked, pending), (InputRequest::MAX_PENDING, InputRequest::MAX_PENDING));
}

pub async fn questions_are_listed_newest_first_and_found_by_their_id(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let other = TestChat::create_in(&chat.scope, &store, super::fixture::new_chat()).await;
    for request in ["q1", "q2", "q3"] {
        ask(&chat, question(request, "Why?")).await.unwrap();
    }
    ask(&other, question("q2", "Why?")).await.unwrap();
    let mut listed = Vec::new();
    let mut after: Option<InputCursor> = None;
    loop {
        let page = store.list_input_requests(&chat.scope, &chat.id, 2, after.as_ref());
        let page = page.await.unwrap();
        listed.extend(page.requests);
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let key = |request: &InputRequest| (request.created_at, request.request_id.clone());
    assert!(listed.is_sorted_by_key(|request| std::cmp::Reverse(key(request))));
    assert_eq!(listed.len(), 3);
    let found = async |chat: &TestChat, request: &str| {
        let found = chat.store.find_input_requests(&chat.scope, &id(request)).await.unwrap();
        found.into_iter().map(|request| request.chat_id).collect::<Vec<_>>()
    };
    assert_eq!(found(&chat, "q1").await, std::slice::from_ref(&chat.id));
    assert_eq!(found(&chat, "q2").await.len(), 2);
    assert_eq!(found(&TestChat::unknown(&store), "q1").await, []);
}

pub async fn a_pending_question_is_found_among_any_number_of_closed_ones(store: Arc<dyn Store>) {
    let first = TestChat::create(&store).await;
    let mut mine = new_chat();
    (mine.visibility, mine.user_id) = (Visibility::Private, Some(UserId::parse("ann").unwrap()));
    for n in 0..100 {
        // Some questions are closed, and Ann may not see the others.
        let mut new = NewChatSession { visibility: Visibility::Link, ..new_chat() };
        if n % 2 == 0 {
            (new.visibility, new.user_id) =
                (Visibility::Private, Some(UserId::parse("bob").unwrap()));
        }
        let chat = TestChat::create_in(&first.scope, &store, new).await;
        ask(&chat, question("q1", "Why?")).await.unwrap();
        if n % 2 == 1 {
            cancel(&chat, "q1", None).await.unwrap();
        }
    }
    let ann = first.seen_by("ann", None);
    let find = async || store.find_input_requests(&ann.scope, &id("q1")).await.unwrap();
    assert_eq!(
        find().await.len(),
        InputPage::MAX_FOUND,
        "closed questions are found if none is pending"
    );
    let chat = TestChat::create_in(&ann.scope, &store, mine).await;
    ask(&chat, question("q1", "Why?")).await.unwrap();
    let found = find().await;
    assert_eq!(found.iter().map(|found| &found.chat_id).collect::<Vec<_>>(), [&chat.id]);
}

pub async fn an_inbox_has_the_pending_questions_of_the_chats_that_one_lists(store: Arc<dyn Store>) {
    let service = super::fixture::some_scope();
    let owned = |user: &str, visibility, team: Option<&str>| NewChatSession {
        user_id: UserId::parse(user).ok(),
        team_id: team.map(|team| TeamId::parse(team).unwrap()),
        visibility,
        ..new_chat()
    };
    let mut chats = Vec::new();
    for new in [
        owned("ada", Visibility::Private, None),
        owned("bob", Visibility::Private, None),
        owned("bob", Visibility::Team, Some("red")),
        owned("bob", Visibility::App, None),
        owned("ada", Visibility::Private, None),
        owned("bob", Visibility::Private, Some("red")),
    ] {
        chats.push(TestChat::create_in(&service, &store, new).await);
    }
    chats[1].put_member("ada", MemberRole::Reader).await.unwrap();
    // Closed and overdue questions, and those of deleted chats, are left out.
    for (index, chat) in chats.iter().enumerate() {
        ask(chat, question("q1", "Why?")).await.unwrap();
        let overdue = NewInputRequest { expires_in_sec: Some(1), ..question("q2", "Now?") };
        ask(chat, overdue).await.unwrap();
        ask(chat, question("q3", "How?")).await.unwrap();
        if index != 2 {
            answer(chat, "q3", "so").await.unwrap();
        }
        sleep(Duration::from_millis(2)).await;
    }
    chats[4].change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    sleep(Duration::from_millis(1_100)).await;
    let ada = chats[0].seen_by("ada", Some("red")).scope;
    let other = super::fixture::some_scope();
    let stranger = chats[0].seen_by("carol", None).scope;
    for (scope, expected) in [
        (&service, vec![(0, "q1"), (1, "q1"), (2, "q1"), (2, "q3"), (3, "q1"), (5, "q1")]),
        (&ada, vec![(0, "q1"), (1, "q1"), (2, "q1"), (2, "q3")]),
        (&stranger, vec![]),
        (&other, vec![]),
    ] {
        let expected: Vec<_> = expected
            .into_iter()
            .map(|(index, q): (usize, _)| (chats[index].id.clone(), id(q)))
            .collect();
        for limit in [1, 2, 3, 100] {
            let oldest = inbox(&store, scope, PendingOrder::Oldest, limit).await;
            assert_eq!(oldest, expected, "{scope:?}, {limit} at a time");
            let mut newest = inbox(&store, scope, PendingOrder::Newest, limit).await;
            newest.reverse();
            assert_eq!(newest, expected, "{scope:?}, {limit} at a time");
        }
    }
    chats[1].remove_member("ada").await.unwrap();
    let left = inbox(&store, &ada, PendingOrder::Newest, 100).await;
    assert!(left.iter().all(|(chat_id, _)| *chat_id != chats[1].id), "{left:?}");
}

/// Reads all pages of an inbox.
async fn inbox(
    store: &Arc<dyn Store>,
    scope: &Scope,
    order: PendingOrder,
    limit: usize,
) -> Vec<(ChatId, InputRequestId)> {
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.list_pending_inputs(scope, order, limit, after.as_ref()).await.unwrap();
        assert!(page.requests.len() <= limit);
        found.extend(page.requests.into_iter().map(|it| (it.chat_id, it.request_id)));
        after = page.next;
        if after.is_none() {
            return found;
        }
    }
}

pub async fn a_head_lists_changed_questions(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    let head = async || store.confirmed_head(&chat.scope, &chat.id).await.unwrap();
    let before = head().await;
    assert_eq!((before.input_version, before.pending_inputs), (0, vec![]));
    ask(&chat, question("q1", "Why?")).await.unwrap();
    ask(&chat, question("q2", "Why?")).await.unwrap();
    answer(&chat, "q1", "so").await.unwrap();
    let after = head().await;
    assert_eq!(after.pending_inputs, [id("q2")]);
    assert_eq!(after.inputs_since(0), Some(vec![&id("q2"), &id("q1")]));
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    let ended = head().await;
    assert_eq!(ended.inputs_since(after.input_version), Some(vec![&id("q2")]));
    assert_eq!(ended.pending_inputs, []);
}

pub async fn questions_of_unknown_chats_are_not_found(store: Arc<dyn Store>) {
    let chat = TestChat::create(&store).await;
    ask(&chat, question("q1", "Why?")).await.unwrap();
    for stranger in [TestChat::unknown(&store), chat.seen_from(super::fixture::some_scope())] {
        let not_found = StoreError::ChatNotFound(stranger.id.clone());
        assert_refused(ask(&stranger, question("q2", "Why?")).await, &not_found);
        assert_refused(get(&stranger, "q1").await, &not_found);
        assert_refused(answer(&stranger, "q1", "so").await, &not_found);
        assert_refused(cancel(&stranger, "q1", None).await, &not_found);
        let listed = store.list_input_requests(&stranger.scope, &stranger.id, 10, None).await;
        assert_refused(listed, &not_found);
        let found = store.find_input_requests(&stranger.scope, &id("q1")).await.unwrap();
        assert_eq!(found, []);
    }
    assert_eq!(get(&chat, "q1").await.unwrap().state(), "pending");
}

fn id(id: &str) -> InputRequestId {
    InputRequestId::parse(id).unwrap()
}

fn question(id: &str, prompt: &str) -> NewInputRequest {
    let request_id = InputRequestId::parse(id).ok();
    NewInputRequest { request_id, question: Question::of(prompt), expires_in_sec: None }
}

async fn ask(chat: &TestChat, new: NewInputRequest) -> Result<RequestedInput, StoreError> {
    chat.store.request_input(&chat.scope, &chat.id, new).await
}

async fn get(chat: &TestChat, request: &str) -> Result<InputRequest, StoreError> {
    chat.store.get_input_request(&chat.scope, &chat.id, &id(request)).await
}

async fn answer(
    chat: &TestChat,
    request: &str,
    content: impl Into<Value>,
) -> Result<AnsweredInput, StoreError> {
    give(chat, request, NewInputAnswer::of(content)).await
}

async fn give(
    chat: &TestChat,
    request: &str,
    answer: NewInputAnswer,
) -> Result<AnsweredInput, StoreError> {
    chat.store.answer_input_request(&chat.scope, &chat.id, &id(request), answer).await
}

async fn cancel(
    chat: &TestChat,
    request: &str,
    reason: Option<&str>,
) -> Result<InputRequest, StoreError> {
    chat.store.cancel_input_request(&chat.scope, &chat.id, &id(request), reason).await
}
