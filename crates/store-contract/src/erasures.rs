//! Erasing persons: what they said is gone everywhere, and nothing else.

use std::sync::Arc;
use std::time::Duration;

use persistence::{AuditFilter, Billing, Inherited, Outcome, ResumePointFilter, Store, StoreError};
use records::{
    Actor, AuditAction, Author, ChatId, ChatStatus, DisplayName, Erasure, Lifecycle, MemberRole,
    Message, MessageBody, MessageEdit, NewChatSession, NewFork, NewInputAnswer, NewInputRequest,
    NewMessage, NewProviderCall, NewTurn, Permission, Pseudonym, Question, Scope, SessionChange,
    StackFrame, StackId, Step, StepKind, TurnId, TurnMessage, TurnOutcome, UserId, Visibility,
};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::fixture::{
    TestChat, TestWallet, assert_dense, assert_refused, event, message, new_chat, new_content,
    new_entry, object, outcomes, race, some_scope,
};
use super::scopes::full_chat;

pub(crate) fn user(id: &str) -> UserId {
    UserId::parse(id).unwrap()
}

fn said(by: &str, message: NewMessage) -> NewMessage {
    let display_name = DisplayName::parse(format!("{by} the author")).ok();
    NewMessage { author: Some(Author { user_id: user(by), display_name }), ..message }
}

fn of_person(owner: &str) -> NewChatSession {
    let visibility = Visibility::App;
    NewChatSession { user_id: Some(user(owner)), visibility, ..new_chat() }
}

pub(crate) async fn erase(store: &Arc<dyn Store>, scope: &Scope, person: &str) -> Erasure {
    let actor = Actor::command_line();
    let begun = store.begin_erasure(&actor, &scope.app_id, &user(person)).await.unwrap();
    assert_eq!(begun.user_id, Some(user(person)));
    for _ in 0..1_000 {
        let erasure = store.continue_erasure(&scope.app_id, begun.pseudonym, 2).await.unwrap();
        let erasure = erasure.unwrap();
        if erasure.finished_at.is_some() {
            return erasure;
        }
    }
    panic!("the erasure does not end");
}

async fn revision(chat: &TestChat) -> u64 {
    let heads = chat.store.heads(&chat.scope, std::slice::from_ref(&chat.id)).await.unwrap();
    heads[0].revision
}

pub(crate) fn alias(erasure: &Erasure) -> UserId {
    user(&format!("{}{}", Erasure::PREFIX, erasure.pseudonym))
}

fn assert_erased(message: &Message) {
    assert_eq!(message.body.content, Value::Null, "{message:?}");
    assert_eq!(message.body.name, None);
    assert!(message.deleted_at.is_some());
}

fn texts(messages: &[Message]) -> Vec<Value> {
    messages.iter().map(|message| message.body.content.clone()).collect()
}

pub async fn what_a_person_wrote_in_chats_of_others_is_gone(store: Arc<dyn Store>) {
    let chat = TestChat::create_from(&store, of_person("bob")).await;
    chat.append([said("ada", event("e", "mine")), said("bob", message("his"))]).await.unwrap();
    // Old messages are stored elsewhere than new ones, and edited ones that forks share elsewhere still.
    chat.append_filler().await;
    let fork = chat.fork(NewFork::default()).await.unwrap();
    chat.append([said("ada", message("new")), said("bob", message("newer"))]).await.unwrap();
    for edited in [&chat, &fork] {
        edited.update_message(0, new_content("edited")).await.unwrap();
    }
    let by_ada = chat.seen_by("ada", None).needing(Permission::Read);
    by_ada.join("ada").await.unwrap();
    chat.put_member("ada", MemberRole::Member).await.unwrap();
    let before = chat.history().await.unwrap();
    let edits = revision(&chat).await;
    let erasure = erase(&store, &chat.scope, "ada").await;
    assert_eq!(revision(&chat).await, edits + 2, "each of the two messages is told once");
    let after = chat.history().await.unwrap();
    assert_dense(&after);
    assert_eq!(after.len(), before.len());
    for (before, after) in before.iter().zip(&after) {
        assert_eq!((before.sequence, &before.event_id), (after.sequence, &after.event_id));
        if before.author.as_ref().is_some_and(|author| author.user_id == user("ada")) {
            assert_erased(after);
            let author = after.author.clone().unwrap();
            assert_eq!((author.user_id, author.display_name), (alias(&erasure), None));
        } else {
            assert_eq!(before, after);
        }
    }
    assert_erased(&fork.get_message(0).await.unwrap());
    assert_eq!(fork.get_message(1).await.unwrap().body.content, "his");
    assert_eq!(chat.members().await.unwrap(), []);
    let participants = chat.participants().await.unwrap();
    assert_eq!(participants[0].user_id, alias(&erasure));
    assert_eq!(participants[0].display_name, None);
    assert!(chat.get().await.unwrap().is_some(), "the chat is bob's");
    assert_eq!(erasure.erased["messages"], 3, "{erasure:?}");
}

/// The input of a step may repeat any message of the chat, and of those that it was forked from.
pub async fn the_unfinished_steps_of_a_chat_with_erased_messages_are_gone(store: Arc<dyn Store>) {
    let turn = |by: &str| NewTurn {
        request_id: TurnId::parse(by).unwrap(),
        outcome: TurnOutcome::Failed,
        messages: vec![TurnMessage {
            body: message("asked").body,
            author: said(by, message("")).author,
        }],
        steps: vec![Step::new(StepKind::Llm, StackFrame::root(StackId::parse("stack").unwrap()))],
        connector: Some("phone".to_owned()),
        mode: Some("call".to_owned()),
    };
    let chat = TestChat::create_from(&store, of_person("bob")).await;
    chat.append([said("ada", message("mine"))]).await.unwrap();
    chat.append_filler().await;
    let fork = chat.fork(NewFork::default()).await.unwrap();
    let earlier = chat.fork(NewFork { sequence: Some(0), ..NewFork::default() }).await.unwrap();
    store.append_turn(&chat.scope, &chat.id, turn("bob")).await.unwrap();
    store.append_turn(&chat.scope, &chat.id, turn("ada")).await.unwrap();
    for other in [&fork, &earlier] {
        store.append_turn(&other.scope, &other.id, turn("bob")).await.unwrap();
    }
    erase(&store, &chat.scope, "ada").await;
    let all = ResumePointFilter::default();
    for (chat, expected) in [(&chat, 0), (&fork, 0), (&earlier, 1)] {
        let left = store.list_resume_points(&chat.scope, &chat.id, &all, 10, None).await.unwrap();
        assert_eq!(left.points.len(), expected);
    }
    let session = chat.session().await;
    assert_eq!((session.last_connector, session.last_mode), (None, None));
}

pub async fn the_last_speaker_of_an_erased_message_is_its_role(store: Arc<dyn Store>) {
    let last = TestChat::create_from(&store, of_person("bob")).await;
    let ada = || NewMessage {
        body: MessageBody::new("user", Some("Ada"), "mine"),
        ..said("ada", message(""))
    };
    last.append([ada()]).await.unwrap();
    let earlier = TestChat::create_from(&store, of_person("bob")).await;
    let planner = MessageBody::new("assistant", Some("planner"), "a plan");
    earlier.append([ada(), planner.into()]).await.unwrap();
    erase(&store, &last.scope, "ada").await;
    assert_eq!(last.session().await.last_speaker.as_deref(), Some("user"));
    assert_eq!(earlier.session().await.last_speaker.as_deref(), Some("planner"));
}

pub async fn a_fork_of_an_erased_chat_forgets_every_context(store: Arc<dyn Store>) {
    let chat = TestChat::create_from(&store, of_person("ada")).await;
    chat.append([said("ada", message("mine"))]).await.unwrap();
    let small = object(json!({"secret": "mine"}));
    let large = object(json!({"secret": "mine".repeat(2_000)}));
    let mut forks = Vec::new();
    for data in [small, large] {
        chat.replace_context(data).await.unwrap();
        for writes in [0, 1, 12] {
            let fork = chat.fork(NewFork { user_id: None, ..NewFork::default() }).await.unwrap();
            for n in 0..writes {
                fork.merge_context(object(json!({"own": n}))).await.unwrap();
            }
            forks.push(fork);
        }
    }
    erase(&store, &chat.scope, "ada").await;
    for fork in forks {
        let (scope, id) = (&fork.scope, &fork.id);
        let context = store.load_context_snapshot(scope, id).await.unwrap();
        assert_eq!((context.sequence, context.data), (0, object(json!({}))));
        let kept = store.list_context_versions(scope, id, 10, None).await.unwrap();
        assert_eq!(kept.versions, []);
        fork.merge_context(object(json!({"own": "new"}))).await.unwrap();
        let context = store.load_context_snapshot(scope, id).await.unwrap();
        assert_eq!(context.data, object(json!({"own": "new"})));
    }
}

pub async fn a_late_repeat_of_an_erased_message_is_a_duplicate(store: Arc<dyn Store>) {
    let chat = TestChat::create_from(&store, of_person("bob")).await;
    chat.append([said("ada", event("e", "mine")), message("other")]).await.unwrap();
    for is_sealed in [false, true] {
        if is_sealed {
            chat.append_filler().await;
        }
        erase(&store, &chat.scope, "ada").await;
        for content in ["mine", "something else"] {
            let again = chat.append([said("ada", event("e", content))]).await.unwrap();
            assert_eq!(outcomes(&again), [Outcome::Duplicate]);
        }
        assert_erased(&chat.get_message(0).await.unwrap());
    }
}

pub async fn the_chats_of_a_person_are_gone_also_in_forks(store: Arc<dyn Store>) {
    let system_prompt = Some("secret instructions".to_owned());
    let with_prompt = NewChatSession { system_prompt, ..of_person("ada") };
    let theirs = TestChat::create_from(&store, with_prompt).await;
    theirs.append([said("ada", event("e", "secret")), message("secret answer")]).await.unwrap();
    theirs.replace_context(object(json!({"a": "secret"}))).await.unwrap();
    theirs.append_filler().await;
    theirs.append([message("secret end")]).await.unwrap();
    let of_bob = |sequence| NewFork {
        sequence,
        user_id: Some(user("bob")),
        title: Some("bob's".to_owned()),
        ..NewFork::default()
    };
    let fork = theirs.fork(of_bob(None)).await.unwrap();
    let part = fork.fork(of_bob(Some(1))).await.unwrap();
    fork.append([message("bob's own")]).await.unwrap();
    fork.update_message(1, new_content("secret, edited")).await.unwrap();
    let of_fork = fork.fork(of_bob(None)).await.unwrap();
    of_fork.append([message("also bob's own")]).await.unwrap();
    // The fork between is purged: what it passed on goes as well.
    store.purge_chat(&Actor::command_line(), &fork.scope, &fork.id, None).await.unwrap();
    let erasure = erase(&store, &theirs.scope, "ada").await;
    assert_eq!(theirs.seen_from(theirs.scope.finding_deleted()).get().await.unwrap(), None);
    assert_eq!(erasure.erased["chats"], 1);
    let left = of_fork.history().await.unwrap();
    assert_dense(&left);
    let (inherited, own) = left.split_at(3 + 500);
    inherited.iter().for_each(assert_erased);
    assert_eq!(texts(own), ["bob's own", "also bob's own"]);
    assert_erased(&part.get_message(0).await.unwrap());
    assert_eq!(part.load_context().await.unwrap().data, object(json!({})));
    for fork in [&part, &of_fork] {
        let session = fork.session().await;
        assert_eq!((session.title.as_deref(), session.system_prompt), (Some("bob's"), None));
    }
}

pub async fn a_chat_of_another_that_a_person_forked_stays_whole(store: Arc<dyn Store>) {
    let source = TestChat::create_from(&store, of_person("bob")).await;
    source.append([message("bob's")]).await.unwrap();
    source.append_filler().await;
    let new = NewFork { user_id: Some(user("ada")), ..NewFork::default() };
    let fork = source.fork(new).await.unwrap();
    fork.append([message("ada's")]).await.unwrap();
    let of_fork = fork.fork(NewFork::default()).await.unwrap();
    let before = source.whole().await;
    erase(&store, &source.scope, "ada").await;
    assert_eq!(source.whole().await, before);
    let left = of_fork.history().await.unwrap();
    assert_eq!(left[0].body.content, "bob's");
    assert_erased(left.last().unwrap());
    assert_eq!(fork.get().await.unwrap(), None);
}

pub async fn what_was_edited_in_a_chat_of_a_person_is_gone_in_forks_of_it(store: Arc<dyn Store>) {
    let source = TestChat::create_from(&store, of_person("bob")).await;
    source.append([message("first"), message("second")]).await.unwrap();
    source.append_filler().await;
    source.append([message("last"), message("end")]).await.unwrap();
    let of = |person: &str| NewFork { user_id: Some(user(person)), ..NewFork::default() };
    let fork = source.fork(of("ada")).await.unwrap();
    let last = fork.session().await.last_sequence - 2;
    for sequence in [0, last] {
        fork.update_message(sequence, new_content("edited in ada's")).await.unwrap();
    }
    let of_fork = fork.fork(of("bob")).await.unwrap();
    let of_it = of_fork.fork(of("bob")).await.unwrap();
    // What is edited in the moment of the fork may be from ada's chat.
    sleep(Duration::from_millis(5)).await;
    for sequence in [1, last + 1] {
        of_fork.update_message(sequence, new_content("edited in bob's")).await.unwrap();
    }
    let before = source.whole().await;
    let kept = of_fork.history().await.unwrap();
    erase(&store, &source.scope, "ada").await;
    assert_eq!(source.whole().await, before);
    for chat in [&of_fork, &of_it] {
        let left = chat.history().await.unwrap();
        for sequence in [0, last] {
            assert_erased(&left[usize::try_from(sequence).unwrap()]);
        }
        assert_eq!(left.iter().filter(|message| message.deleted_at.is_some()).count(), 2);
    }
    for sequence in [1, last + 1] {
        let message = of_fork.get_message(sequence).await.unwrap();
        assert_eq!(message, kept[usize::try_from(sequence).unwrap()]);
    }
}

pub async fn the_answers_of_a_person_are_gone(store: Arc<dyn Store>) {
    let chat = TestChat::create_from(&store, of_person("bob")).await;
    let new =
        NewInputRequest { request_id: None, question: Question::of("Why?"), expires_in_sec: None };
    let (scope, chat_id) = (&chat.scope, &chat.id);
    let asked = store.request_input(scope, chat_id, new).await.unwrap().request.request_id;
    chat.put_member("ada", MemberRole::Member).await.unwrap();
    let said = chat.seen_by("ada", None).needing(Permission::Say).scope;
    let answer = NewInputAnswer { name: Some("Ada".to_owned()), ..NewInputAnswer::of("because") };
    store.answer_input_request(&said, chat_id, &asked, answer.clone()).await.unwrap();
    let erasure = erase(&store, scope, "ada").await;
    let request = store.get_input_request(scope, chat_id, &asked).await.unwrap();
    let shown = format!("{request:?}");
    for gone in ["because", "\"Ada\"", "\"ada\""] {
        assert!(!shown.contains(gone), "{shown}");
    }
    assert!(shown.contains("Why?"));
    assert_eq!(erasure.erased["answers"], 1);
    assert_erased(&chat.get_message(0).await.unwrap());
    assert!(request.is_answered_by(&alias(&erasure)));
}

pub async fn chats_under_hold_are_left_and_listed(store: Arc<dyn Store>) {
    let scope = some_scope();
    let held = TestChat::create_in(&scope, &store, of_person("ada")).await;
    let source = TestChat::create_in(&scope, &store, of_person("ada")).await;
    let of_others = TestChat::create_in(&scope, &store, of_person("bob")).await;
    let mut before = Vec::new();
    source.append([message("shown by a fork under hold")]).await.unwrap();
    let fork = source.fork(NewFork::default()).await.unwrap();
    of_others.append([said("ada", message("evidence"))]).await.unwrap();
    for chat in [&held, &fork, &of_others] {
        let actor = Actor::command_line();
        store.set_hold(&actor, &scope.app_id, &chat.id, Some("dispute")).await.unwrap();
    }
    let all = [&held, &source, &of_others];
    for chat in all {
        before.push(chat.history().await.unwrap());
    }
    let erasure = erase(&store, &scope, "ada").await;
    for (chat, before) in all.into_iter().zip(before) {
        assert_eq!(chat.history().await.unwrap(), before);
    }
    let mut listed = erasure.held.clone();
    listed.sort();
    let mut expected = all.map(|chat| chat.id.clone());
    expected.sort();
    assert_eq!(listed, expected);
    // Once the holds are lifted, it can be made again.
    for chat in [&held, &fork, &of_others] {
        store.set_hold(&Actor::command_line(), &scope.app_id, &chat.id, None).await.unwrap();
    }
    let erasure = erase(&store, &scope, "ada").await;
    assert_eq!((erasure.held.len(), erasure.erased["chats"]), (0, 2));
    assert_erased(&of_others.get_message(0).await.unwrap());
    assert_erased(&fork.get_message(0).await.unwrap());
}

pub async fn a_wallet_goes_to_the_pseudonym_with_its_balance(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 1_000).await;
    for n in 0..150 {
        let entry = new_entry(&format!("entry-{n}"), 2);
        let entry = records::NewWalletEntry { reason: Some("for ada".to_owned()), ..entry };
        store.debit(&wallet.scope, &wallet.user_id, entry).await.unwrap();
    }
    let before = wallet.entries(50).await;
    let person = wallet.user_id.as_str().to_owned();
    let erasure = erase(&store, &wallet.scope, &person).await;
    assert_eq!(wallet.get().await.unwrap(), None);
    let moved = wallet.of(alias(&erasure).as_str());
    moved.assert_sound().await;
    assert_eq!(moved.wallet().await.balance, 1_000 - 300);
    let after = moved.entries(50).await;
    assert!(after.iter().all(|entry| entry.reason.is_none()));
    let numbers = |entries: &[records::WalletEntry]| {
        let number = |it: &records::WalletEntry| (it.entry_id.clone(), it.amount, it.balance);
        entries.iter().map(number).collect::<Vec<_>>()
    };
    assert_eq!(numbers(&after), numbers(&before));
    assert_eq!((erasure.erased["wallets"], erasure.erased["wallet_entries"]), (1, 151));
}

/// Entry ids may repeat in the wallets.
pub async fn a_wallet_goes_beside_one_that_the_pseudonym_has_already(store: Arc<dyn Store>) {
    let wallet = TestWallet::create(&store, 1_000).await;
    let person = wallet.user_id.as_str().to_owned();
    let (actor, app_id) = (Actor::command_line(), &wallet.scope.app_id);
    let begun = store.begin_erasure(&actor, app_id, &wallet.user_id).await.unwrap();
    let first = wallet.of(alias(&begun).as_str());
    let second = wallet.of(&format!("{}_2", alias(&begun)));
    first.ensure(500).await.unwrap();
    for (wallet, amount) in [(&first, 1), (&wallet, 2)] {
        for n in 0..40 {
            wallet.debit(&format!("entry-{n}"), amount).await.unwrap();
        }
    }
    let (in_first, in_second) = (first.entries(50).await, wallet.entries(50).await);
    let erasure = erase(&store, &wallet.scope, &person).await;
    assert_eq!(erasure.pseudonym, begun.pseudonym);
    assert_eq!(wallet.get().await.unwrap(), None);
    // A person who comes back and is erased again has another pseudonym.
    wallet.ensure(7).await.unwrap();
    let again = erase(&store, &wallet.scope, &person).await;
    let third = wallet.of(alias(&again).as_str());
    for (wallet, balance) in [(&first, 500 - 40), (&second, 1_000 - 80), (&third, 7)] {
        wallet.assert_sound().await;
        assert_eq!(wallet.wallet().await.balance, balance);
    }
    assert_eq!((first.entries(50).await, second.entries(50).await), (in_first, in_second));
    assert_eq!((erasure.erased["wallets"], erasure.erased["wallet_entries"]), (1, 41));
}

pub async fn an_erasure_changes_no_number_of_the_statistics(store: Arc<dyn Store>) {
    let chat = full_chat(&store, Visibility::Private, Some("ada"), None).await;
    let flow = chat.session().await.workflow_name;
    let call = NewProviderCall { prompt_tokens: 7, ..NewProviderCall::default() };
    store.record_calls(&chat.scope, &chat.id, vec![call], Billing::Free).await.unwrap();
    chat.set_status(ChatStatus::Completed, None).await.unwrap();
    let before = store.workflow_stats(&chat.scope.app_id, &flow).await.unwrap();
    erase(&store, &chat.scope, "ada").await;
    assert_eq!(store.workflow_stats(&chat.scope.app_id, &flow).await.unwrap(), before);
}

pub async fn an_erasure_of_one_app_leaves_the_others(store: Arc<dyn Store>) {
    let [here, there] = [some_scope(), some_scope()];
    let chat = TestChat::create_in(&there, &store, of_person("ada")).await;
    chat.append([said("ada", message("elsewhere"))]).await.unwrap();
    let before = chat.whole().await;
    erase(&store, &here, "ada").await;
    assert_eq!(chat.whole().await, before);
}

pub async fn an_erasure_goes_on_where_it_was_and_its_receipt_names_no_person(
    store: Arc<dyn Store>,
) {
    let scope = some_scope();
    for _ in 0..5 {
        TestChat::create_in(&scope, &store, of_person("ada")).await;
    }
    let (actor, app_id) = (Actor::command_line(), &scope.app_id);
    let begun = store.begin_erasure(&actor, app_id, &user("ada")).await.unwrap();
    assert_eq!(store.unfinished_erasures(10).await.unwrap(), std::slice::from_ref(&begun));
    store.continue_erasure(app_id, begun.pseudonym, 1).await.unwrap();
    let finished = erase_or_done(&store, &scope, &begun).await;
    assert_eq!(finished.erased["chats"], 5);
    assert!(!format!("{finished:?}").contains("\"ada\""), "{finished:?}");
    assert_eq!(store.unfinished_erasures(10).await.unwrap(), []);
    assert_eq!(store.get_erasure(app_id, begun.pseudonym).await.unwrap(), Some(finished));
    assert_eq!(store.get_pseudonym(Some(app_id), &user("ada")).await.unwrap(), None);
    let unknown: Pseudonym = "0".repeat(64).parse().unwrap();
    assert_eq!(store.continue_erasure(app_id, unknown, 1).await.unwrap(), None);
    // A person who comes back gets another pseudonym.
    let again = erase(&store, &scope, "ada").await;
    assert_ne!(again.pseudonym, begun.pseudonym);
    assert_eq!(again.erased.get("chats"), None);
    let filter = AuditFilter { action: Some(AuditAction::EraseUser), ..AuditFilter::default() };
    let page = store.list_audit_entries(&filter, 10, None).await.unwrap();
    assert!(page.entries.iter().filter(|entry| entry.app_id.as_ref() == Some(app_id)).count() >= 2);
}

async fn erase_or_done(store: &Arc<dyn Store>, scope: &Scope, begun: &Erasure) -> Erasure {
    for _ in 0..100 {
        let erasure = store.continue_erasure(&scope.app_id, begun.pseudonym, 2).await.unwrap();
        if let Some(erasure) = erasure.filter(|erasure| erasure.finished_at.is_some()) {
            return erasure;
        }
    }
    panic!("the erasure does not end");
}

pub async fn what_an_erasure_would_find_is_found_before_it_and_not_after(store: Arc<dyn Store>) {
    let theirs = TestChat::create_from(&store, of_person("ada")).await;
    let new = || TestChat::create_in(&theirs.scope, &store, of_person("bob"));
    let said_in = new().await;
    said_in.append([said("ada", message("mine"))]).await.unwrap();
    said_in.append_filler().await;
    let member = new().await;
    member.put_member("ada", MemberRole::Member).await.unwrap();
    let joined = new().await;
    joined.seen_by("ada", None).needing(Permission::Read).join("ada").await.unwrap();
    let untouched = new().await;
    untouched.append([said("bob", message("alone"))]).await.unwrap();
    let deleted = TestChat::create_in(&theirs.scope, &store, of_person("ada")).await;
    deleted.change(SessionChange::to_lifecycle(Lifecycle::Deleted)).await.unwrap();
    let mut expected = vec![&theirs.id, &said_in.id, &member.id, &joined.id, &deleted.id];
    expected.sort();
    let (found, searched) = find(&store, &theirs.scope, "ada").await;
    assert_eq!((found.iter().collect::<Vec<_>>(), searched), (expected, 6));
    assert_eq!(find(&store, &some_scope(), "ada").await, (vec![], 0));
    erase(&store, &theirs.scope, "ada").await;
    assert_eq!(find(&store, &theirs.scope, "ada").await.0, vec![]);
}

/// A fork shows messages as its source had them when it was forked.
pub async fn what_only_forks_still_show_of_a_person_is_found(store: Arc<dyn Store>) {
    let theirs = TestChat::create_from(&store, of_person("ada")).await;
    let of_others = [(); 2].map(|()| TestChat::create_in(&theirs.scope, &store, of_person("bob")));
    let [edited, purged] = of_others;
    let (edited, purged) = (edited.await, purged.await);
    let mut expected = Vec::new();
    for chat in [&theirs, &edited, &purged] {
        chat.append([said("ada", message("mine")), message("about ada")]).await.unwrap();
        chat.append_filler().await;
        let fork =
            || NewFork { user_id: Some(user("carl")), sequence: Some(2), ..NewFork::default() };
        let fork_of = chat.fork(fork()).await.unwrap();
        let fork_of_it = fork_of.fork(fork()).await.unwrap();
        expected.extend([fork_of, fork_of_it].map(|fork| (fork.id, chat.id == theirs.id)));
    }
    theirs.delete_message(0).await.unwrap();
    edited.update_message(0, new_content("edited")).await.unwrap();
    store.purge_chat(&Actor::command_line(), &purged.scope, &purged.id, None).await.unwrap();
    let step = store.find_chats_of(&theirs.scope.app_id, &user("ada"), None, 100).await.unwrap();
    for (fork, is_of_theirs) in &expected {
        let found = step.found.iter().find(|found| found.chat_id == *fork).unwrap();
        let inherited = Inherited { source: theirs.id.clone(), span: 0..2 };
        assert_eq!(
            found.inherited,
            is_of_theirs.then_some(inherited).into_iter().collect::<Vec<_>>()
        );
    }
    let (alone, carl) = (theirs.fork(NewFork::default()).await.unwrap(), user("carl"));
    let step = store.find_chats_of(&theirs.scope.app_id, &carl, None, 100).await.unwrap();
    assert!(step.found.iter().all(|found| found.chat_id != alone.id && found.inherited.is_empty()));
    erase(&store, &theirs.scope, "ada").await;
    assert_eq!(find(&store, &theirs.scope, "ada").await.0, vec![]);
}

/// Returns the chats in which there is anything of a person, in the order of their ids, and how many were searched.
async fn find(store: &Arc<dyn Store>, scope: &Scope, person: &str) -> (Vec<ChatId>, u64) {
    let (mut found, mut searched, mut after) = (Vec::new(), 0, None);
    loop {
        let step = store.find_chats_of(&scope.app_id, &user(person), after.as_ref(), 2).await;
        let step = step.unwrap();
        found.extend(step.found.into_iter().map(|chat| chat.chat_id));
        searched += step.searched;
        after = step.last;
        if after.is_none() {
            found.sort();
            return (found, searched);
        }
    }
}

pub async fn an_erased_message_cannot_be_edited(store: Arc<dyn Store>) {
    let chat = TestChat::create_from(&store, of_person("bob")).await;
    chat.append([said("ada", message("mine"))]).await.unwrap();
    erase(&store, &chat.scope, "ada").await;
    let edit = MessageEdit { content: Some("back".into()), ..MessageEdit::default() };
    let (chat_id, sequence) = (chat.id.clone(), 0);
    let gone = StoreError::MessageNotFound { chat_id, sequence };
    assert_refused(chat.update_message(0, edit).await, &gone);
}

pub async fn writes_that_race_with_an_erasure_leave_nothing_of_the_person(store: Arc<dyn Store>) {
    let theirs = TestChat::create_from(&store, of_person("ada")).await;
    theirs.append([message("secret")]).await.unwrap();
    let chat = TestChat::create_in(&theirs.scope, &store, of_person("bob")).await;
    for _ in 0..30 {
        chat.append([said("ada", message("secret")), said("bob", message("first"))]).await.unwrap();
    }
    let writers = (0..4_u64).map(|writer| {
        let (chat, theirs) = (chat.clone(), theirs.clone());
        async move {
            let mut forks = Vec::new();
            for n in 0..20 {
                chat.append([said("bob", message(format!("{writer}-{n}")))]).await.unwrap();
                // Bob's messages have odd sequences.
                let edited = 2 * ((writer * 20 + n) % 30) + 1;
                chat.update_message(edited, new_content("edited")).await.unwrap();
                forks.push(chat.fork(NewFork::default()).await.unwrap());
                match theirs.append([message("secret, too")]).await {
                    Ok(_) | Err(StoreError::ChatNotFound(_)) => {}
                    Err(error) => panic!("{error:?}"),
                }
                forks.extend(theirs.fork(NewFork::default()).await.ok());
            }
            forks
        }
    });
    let writing = tokio::spawn(race(writers.collect::<Vec<_>>()));
    let erased = tokio::spawn({
        let (store, scope) = (Arc::clone(&store), theirs.scope.clone());
        async move { erase(&store, &scope, "ada").await }
    });
    let forks = writing.await.unwrap();
    erased.await.unwrap();
    assert_eq!(theirs.get().await.unwrap(), None);
    let history = chat.history().await.unwrap();
    assert_eq!(history.len(), 2 * 30 + 4 * 20);
    for chat in forks.iter().flatten().chain([&chat]) {
        let history = chat.history().await.unwrap();
        assert_dense(&history);
        for message in &history {
            assert!(!message.body.content.to_string().contains("secret"), "{message:?}");
        }
    }
    let by_bob = history.iter().skip(1).step_by(2).take(30);
    assert!(by_bob.into_iter().all(|message| message.body.content == "edited"));
}

pub async fn processes_that_share_an_erasure_count_everything_once(store: Arc<dyn Store>) {
    let scope = some_scope();
    for _ in 0..6 {
        let chat = TestChat::create_in(&scope, &store, of_person("bob")).await;
        chat.append((0..3).map(|_| said("ada", message("sealed")))).await.unwrap();
        chat.append_filler().await;
        chat.append((0..4).map(|_| said("ada", message("new")))).await.unwrap();
        chat.put_member("ada", MemberRole::Member).await.unwrap();
    }
    for _ in 0..2 {
        let chat = TestChat::create_in(&scope, &store, of_person("ada")).await;
        chat.append((0..5).map(|_| said("ada", message("forked")))).await.unwrap();
        chat.fork(NewFork { user_id: Some(user("bob")), ..NewFork::default() }).await.unwrap();
    }
    let begun = store.begin_erasure(&Actor::command_line(), &scope.app_id, &user("ada")).await;
    let pseudonym = begun.unwrap().pseudonym;
    let processes = (0..4).map(|_| {
        let (store, app_id) = (Arc::clone(&store), scope.app_id.clone());
        async move {
            loop {
                let erasure = store.continue_erasure(&app_id, pseudonym, 3).await.unwrap().unwrap();
                if erasure.finished_at.is_some() {
                    return;
                }
            }
        }
    });
    race(processes.collect::<Vec<_>>()).await;
    let erasure = store.get_erasure(&scope.app_id, pseudonym).await.unwrap().unwrap();
    let expected = [("chats", 2), ("members", 6), ("messages", 6 * 7 + 2 * 5), ("usages", 2)];
    let expected = expected.map(|(kind, count)| (kind.to_owned(), count));
    assert_eq!(erasure.erased, expected.into());
}
