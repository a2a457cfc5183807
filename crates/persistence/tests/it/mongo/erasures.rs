//! What an erasure leaves in the database.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bson::{Binary, doc};
use persistence::mongo::{Interruption, MongoStore, WalletVerification, Workflow};
use persistence::{
    AppDocuments, AppendCondition, Assistants, Billing, ChatSessions, Contexts, Erasures,
    Exchanges, Forks, InputRequests, Members, Messages, Participants, Presence, PutCondition,
    Tickets, Turns, Wallets,
};
use records::{
    Actor, AppId, AssistantContent, AssistantId, Author, CallId, Caller, ChatId, Connection,
    ConnectionId, DisplayName, DocumentPath, EntryId, Erasure, EventId, FieldChange, Grant,
    Ids as _, MemberRole, MessageBody, MessageEdit, NewAssistant, NewChatSession, NewDocument,
    NewFork, NewInputAnswer, NewInputRequest, NewMessage, NewProviderCall, NewTicket, NewTurn,
    NewWalletEntry, Permission, Question, Scope, StackFrame, StackId, StatedBinding, Step,
    StepKind, TicketDigest, TurnId, TurnMessage, TurnOutcome, UserId, Uuid7Ids, Visibility,
    WorkflowName,
};
use serde_json::json;

use super::database::Database;
use super::faults::{self, FailPoint, Process};
use super::purges::{holding, plant, scope};

/// How many writes of an erasure lie between two trials of killing it.
const WRITES_BETWEEN_KILLS: usize = 5;

/// Writes as a person wherever a person may write, in a chat of another person.
async fn plant_elsewhere(database: &Database, person: &UserId, token: &str, ids: &str) -> ChatId {
    let scope = &scope();
    let new = NewChatSession {
        user_id: UserId::parse("somebody").ok(),
        visibility: Visibility::App,
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    let chat_id = &database.create_chat(scope, new).await.unwrap().chat_id;
    let author = Author { user_id: person.clone(), display_name: DisplayName::parse(token).ok() };
    let mut body = MessageBody::new("user", Some(token), format!("{token} said"));
    body.timestamp = Some(token.to_owned());
    body.metadata = serde_json::from_value(json!({ token: token })).unwrap();
    let named = [MessageBody::CONNECTOR, MessageBody::MODE, MessageBody::REQUEST_ID];
    for field in MessageBody::free_extra().chain(named) {
        let value = match field {
            MessageBody::PROPS => json!({ token: token }),
            MessageBody::PRODUCED_BY => continue,
            _ => json!(token),
        };
        body.extra.insert(field.to_owned(), value);
    }
    body.extra.insert(MessageBody::PROVIDER.to_owned(), json!({ "openai": { "id": token } }));
    let say = |n: usize| NewMessage {
        event_id: EventId::parse(format!("{ids}-{n}")).ok(),
        author: Some(author.clone()),
        body: body.clone(),
    };
    for n in 0..80 {
        database.append(scope, chat_id, vec![say(n)]).await.unwrap();
    }
    database.seal(&scope.app_id, chat_id, Interruption::Never).await.unwrap();
    let fork = NewFork { user_id: UserId::parse("somebody").ok(), ..NewFork::default() };
    let fork = database.fork_chat(scope, chat_id, fork).await.unwrap().chat_id;
    let user = Caller::User { user_id: person.clone(), team_id: None, may_run: true };
    let caller = Scope::new(scope.app_id.clone(), user, Permission::Say);
    for chat_id in [chat_id, &fork] {
        for n in [3, 79] {
            let edit = MessageEdit {
                content: Some(format!("{token} edited {n}").into()),
                ..MessageEdit::default()
            };
            database.update_message(scope, chat_id, n, edit).await.unwrap();
        }
        for n in [4, 78] {
            database.delete_message(scope, chat_id, n).await.unwrap();
        }
        let member = UserId::parse("somebody").unwrap();
        for user_id in [person, &member] {
            database.put_member(scope, chat_id, user_id, MemberRole::Member).await.unwrap();
        }
        database.join_chat(scope, chat_id, person, author.display_name.as_ref()).await.unwrap();
        database.delete_message(&caller, chat_id, 5).await.unwrap();
        let request_id = records::InputRequestId::parse(format!("{ids}-asked")).ok();
        let new =
            NewInputRequest { request_id, question: Question::of("Why?"), expires_in_sec: None };
        let asked = database.request_input(scope, chat_id, new).await.unwrap().request.request_id;
        let answer = NewInputAnswer { name: Some(token.to_owned()), ..NewInputAnswer::of(token) };
        database.answer_input_request(&caller, chat_id, &asked, answer).await.unwrap();
        let call_id = CallId::parse(format!("{ids}-call")).ok();
        let call = NewProviderCall { call_id, ..NewProviderCall::default() };
        let asked = vec![NewMessage { event_id: None, ..say(0) }];
        database.append_exchange(scope, chat_id, asked, call, Billing::Free).await.unwrap();
        let turn = NewTurn {
            request_id: TurnId::parse(format!("{ids}-turn")).unwrap(),
            outcome: TurnOutcome::Failed,
            messages: vec![TurnMessage { body: body.clone(), author: Some(author.clone()) }],
            steps: vec![Step::new(
                StepKind::Llm,
                StackFrame::root(StackId::parse("stack").unwrap()),
            )],
            connector: None,
            mode: None,
        };
        database.append_turn(scope, chat_id, turn).await.unwrap();
        let connection = Connection {
            connection_id: ConnectionId::parse(ids).unwrap(),
            chat_id: chat_id.clone(),
            user_id: person.clone(),
        };
        let hour = std::time::Duration::from_hours(1);
        database.announce(scope, &[connection], hour).await.unwrap();
    }
    let digest = TicketDigest::of(ids);
    let (caller_expires_at, credential) = Default::default();
    let valid_for = std::time::Duration::from_secs(30);
    let ticket =
        NewTicket { digest, valid_for, grant: Grant::ReadAndSay, caller_expires_at, credential };
    database.create_ticket(&caller, chat_id, ticket).await.unwrap();
    plant_assistant(database, person, token).await;
    plant_wallet(database, person, token, ids).await;
    chat_id.clone()
}

async fn plant_wallet(database: &Database, person: &UserId, token: &str, ids: &str) {
    database.ensure_wallet(&scope(), person, 100).await.unwrap();
    for n in 0..70 {
        let entry_id = EntryId::parse(format!("{ids}-{n}")).unwrap();
        let debit = NewWalletEntry { entry_id, amount: 1, reason: Some(token.to_owned()) };
        database.debit(&scope(), person, debit).await.unwrap();
    }
}

async fn plant_assistant(database: &Database, person: &UserId, token: &str) {
    let content = AssistantContent {
        name: token.to_owned(),
        kind: token.to_owned(),
        ..AssistantContent::default()
    };
    let new = NewAssistant { user_id: FieldChange::Set(person.clone()), content };
    let assistant_id = AssistantId::parse(token).unwrap();
    database.put_assistant(&scope(), &assistant_id, new).await.unwrap();
}

/// Stores a document of the person, and one of a chat, both with parts.
async fn plant_documents(database: &Database, chat_id: &ChatId, person: &UserId, token: &str) {
    let of_person = StatedBinding { user_id: Some(person.clone()), ..StatedBinding::default() };
    let of_chat = StatedBinding { chat_id: Some(chat_id.clone()), ..StatedBinding::default() };
    for (name, binding) in [("own", of_person), ("chat", of_chat)] {
        let path = DocumentPath::parse(format!("{token}/{name}")).unwrap();
        let new = |content: String| NewDocument {
            binding: binding.clone(),
            content_type: token.to_owned(),
            content: content.into_bytes(),
            lifetime: None,
        };
        let large = new(token.repeat(10_000));
        database.put_document(&scope(), &path, large, PutCondition::default()).await.unwrap();
        let condition = AppendCondition { offset: None, write_id: Some(token.to_owned()) };
        let small = new(token.to_owned());
        database.append_document(&scope(), &path, small, condition).await.unwrap();
    }
}

pub(super) async fn erase(store: &MongoStore, person: &UserId, chats_at_once: usize) -> Erasure {
    let app_id = &scope().app_id;
    let begun = store.begin_erasure(&Actor::command_line(), app_id, person).await.unwrap();
    finish(store, begun, chats_at_once).await
}

async fn finish(store: &MongoStore, begun: Erasure, chats_at_once: usize) -> Erasure {
    let Erasure { app_id, pseudonym, .. } = begun;
    loop {
        let erasure = store.continue_erasure(&app_id, pseudonym, chats_at_once).await.unwrap();
        if let Some(erasure) = erasure.filter(|erasure| erasure.finished_at.is_some()) {
            return erasure;
        }
    }
}

async fn verify(database: &Database) {
    let workflow_name = WorkflowName::parse("Generator").unwrap();
    let workflow = Workflow { app_id: scope().app_id, workflow_name };
    let mut found = |difference| panic!("{difference:?}");
    database.verify_stats(&workflow, &|| {}, &mut found).await.unwrap();
    let mut tell = |told: WalletVerification<'_>| {
        let is_fault =
            matches!(told, WalletVerification::Difference(..) | WalletVerification::Orphans(..));
        assert!(!is_fault, "{told:?}");
    };
    database.verify_wallets(None, &mut tell).await.unwrap();
}

#[tokio::test]
async fn an_erasure_leaves_no_text_and_no_name() {
    let database = Database::create().await;
    let [token, ids] = ["token_", "ids_"].map(|prefix| Uuid7Ids.mint(prefix));
    let person = UserId::parse(&token).unwrap();
    let own = plant(&database, &token, &ids).await;
    plant_documents(&database, &own, &person, &token).await;
    let large = serde_json::from_value(json!({ "large": token.repeat(300) })).unwrap();
    database.update_context_snapshot(&scope(), &own, large).await.unwrap();
    let new = || NewFork { user_id: UserId::parse("somebody").ok(), ..NewFork::default() };
    let fork = database.fork_chat(&scope(), &own, new()).await.unwrap().chat_id;
    let changed = database.fork_chat(&scope(), &own, new()).await.unwrap().chat_id;
    for n in 0..30 {
        let mine = serde_json::from_value(json!({ "mine": n })).unwrap();
        database.merge_context_snapshot(&scope(), &changed, mine).await.unwrap();
    }
    let other = plant_elsewhere(&database, &person, &token, &ids).await;
    database.finish_tasks().await;
    let before = holding(&database, &token).await;
    let places: BTreeSet<&str> = before.keys().map(String::as_str).collect();
    let expected = [
        "assistants",
        "chat_blobs",
        "chat_participants",
        "chat_segments",
        "chat_sessions",
        "context_snapshots",
        "document_parts",
        "documents",
        "input_requests",
        "message_versions",
        "presence",
        "provider_calls",
        "pseudonym_keys",
        "resume_points",
        "tickets",
        "tool_runs",
        "wallet_entries",
        "wallets",
    ];
    assert!(expected.iter().all(|place| places.contains(place)), "{before:?}");
    verify(&database).await;

    let erasure = erase(&database, &person, 2).await;
    assert_eq!(holding(&database, &token).await, [].into());
    assert_eq!(erasure.held, []);
    verify(&database).await;
    for chat_id in [&fork, &changed, &other] {
        let all = database.messages(&scope(), chat_id, persistence::MessageRange::all()).await;
        let all = all.unwrap().messages;
        assert!(all.iter().zip(0..).all(|(message, sequence)| message.sequence == sequence));
        assert!(all.iter().all(|message| message.deleted_at.is_some()));
    }
}

#[tokio::test]
async fn an_erasure_that_is_killed_at_any_write_is_finished_by_another_process() {
    let (server, database) = faults::database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    for writes in (0..).step_by(WRITES_BETWEEN_KILLS) {
        let [token, ids] = ["token_", "ids_"].map(|prefix| Uuid7Ids.mint(prefix));
        let person = UserId::parse(&token).unwrap();
        plant_elsewhere(&database, &person, &token, &ids).await;
        database.finish_tasks().await;
        let refuse = doc! {
            "failCommands": ["update", "delete", "insert", "findAndModify", "commitTransaction"],
            "appName": "under-test",
            "closeConnection": true,
        };
        let point = FailPoint::set(&client, "failCommand", doc! { "skip": writes }, refuse).await;
        let (erasing, is_erased) = (person.clone(), Arc::new(AtomicBool::new(false)));
        let tell = is_erased.clone();
        let process = Process::start(&database, async move |store| {
            erase(&store, &erasing, 1_000).await;
            tell.store(true, Ordering::Relaxed);
        });
        while !point.is_hit().await && !is_erased.load(Ordering::Relaxed) {}
        process.kill();
        point.off().await;
        let was_killed = !is_erased.load(Ordering::Relaxed);
        verify(&database).await;
        // As the sweep of another process does. An erasure that was not even begun has to be begun again.
        match database.unfinished_erasures(1).await.unwrap().pop() {
            Some(begun) => finish(&database, begun, 1_000).await,
            None => erase(&database, &person, 1_000).await,
        };
        assert_eq!(holding(&database, &token).await, [].into(), "killed after {writes} writes");
        verify(&database).await;
        if !was_killed {
            assert!(writes > 20, "{writes}");
            return;
        }
    }
}

/// A service may ensure the wallet of a person at any time.
#[tokio::test]
async fn an_erasure_ends_if_a_wallet_of_the_person_is_created_again() {
    let database = Database::create().await;
    faults::chat(&database).await;
    let [token, ids] = ["token_", "ids_"].map(|prefix| Uuid7Ids.mint(prefix));
    let person = UserId::parse(&token).unwrap();
    plant_wallet(&database, &person, &token, &ids).await;
    let (actor, app_id) = (Actor::command_line(), &scope().app_id);
    let begun = database.begin_erasure(&actor, app_id, &person).await.unwrap();
    while database.get_wallet(&scope(), &person).await.unwrap().is_some() {
        database.continue_erasure(app_id, begun.pseudonym, 10).await.unwrap();
    }
    plant_wallet(&database, &person, &token, &ids).await;
    database.finish_tasks().await;
    let erasure = finish(&database, begun, 10).await;
    assert_eq!((erasure.erased["wallets"], erasure.erased["wallet_entries"]), (2, 2 * 71));
    assert_eq!(holding(&database, &token).await, [].into());
    verify(&database).await;
    let listed = database.list_wallets(&scope(), 10, None).await.unwrap().wallets;
    let alias = format!("{}{}", Erasure::PREFIX, erasure.pseudonym);
    let moved = |it: &records::Wallet| (it.user_id.to_string(), it.balance, it.entry_count);
    let expected = [(alias.clone(), 30, 71), (format!("{alias}_2"), 30, 71)];
    assert_eq!(listed.iter().map(moved).collect::<Vec<_>>(), expected);
}

/// The second search finds nothing, so it is the last.
#[tokio::test]
async fn an_erasure_searches_all_chats_twice() {
    let database = Database::create().await;
    let person = UserId::parse("alice").unwrap();
    let of_person = NewChatSession {
        user_id: Some(person.clone()),
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    database.create_chat(&scope(), of_person).await.unwrap();
    for _ in 0..4 {
        faults::chat(&database).await;
    }
    for (user_id, chats) in [("nobody", None), ("alice", Some(1))] {
        let erasure = erase(&database, &UserId::parse(user_id).unwrap(), 2).await;
        assert_eq!(erasure.searched, 10, "{user_id}");
        assert_eq!(erasure.erased.get("chats").copied(), chats, "{user_id}");
    }
}

/// A search reads the chats of its app alone, each once, also those of one moment.
#[tokio::test]
async fn a_search_does_not_read_the_chats_of_other_apps() {
    const OWN: i64 = 7;
    let database = Database::create().await;
    let chat_id = faults::chat(&database).await;
    let copy = |app_id: &str, number: i64, copy: &mut bson::Document| {
        copy.insert("_id", format!("chat_{app_id}_{number}"));
        copy.insert("app_id", app_id);
        copy.insert("user_id", "alice");
        copy.insert("workflow_name", format!("Workflow{}", number % 2));
    };
    database.copy_session(&chat_id, 0..OWN, |n, session| copy("small_app", n, session)).await;
    database.copy_session(&chat_id, 0..500, |n, session| copy("large_app", n, session)).await;
    let (app_id, alice) = (AppId::parse("small_app").unwrap(), UserId::parse("alice").unwrap());
    database.raw.run_command(doc! { "profile": 2 }).await.unwrap();
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let step = database.find_chats_of(&app_id, &alice, after.as_ref(), 2).await.unwrap();
        found.extend(step.found.into_iter().map(|chat| chat.chat_id));
        after = step.last;
        if after.is_none() {
            break;
        }
    }
    database.raw.run_command(doc! { "profile": 0 }).await.unwrap();
    found.sort();
    let expected = (0..OWN).map(|n| ChatId::parse(format!("chat_small_app_{n}")).unwrap());
    assert_eq!(found, expected.collect::<Vec<_>>());
    let examined = database.all("system.profile").await.into_iter().map(|operation| {
        let number = |field| operation.get_i32(field).unwrap_or_default();
        number("docsExamined").max(number("keysExamined"))
    });
    assert!(examined.clone().sum::<i32>() < 40, "{:?}", examined.collect::<Vec<_>>());
}

#[tokio::test]
async fn a_step_of_an_erasure_ends_when_it_takes_long() {
    const CHATS: u64 = 20;
    let (server, database) = faults::database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let alice = UserId::parse("alice").unwrap();
    for _ in 0..CHATS {
        let workflow = WorkflowName::parse("Generator").unwrap();
        let user_id = Some(alice.clone());
        let new = NewChatSession { user_id, ..NewChatSession::of(workflow) };
        database.create_chat(&scope(), new).await.unwrap();
    }
    let wait = doc! {
        "failCommands": ["delete"],
        "namespace": format!("{}.chat_participants", database.raw.name()),
        "appName": "under-test",
        "blockConnection": true,
        "blockTimeMS": 1_000,
    };
    let point = FailPoint::set(&client, "failCommand", "alwaysOn", wait).await;
    let (actor, app_id) = (Actor::command_line(), &scope().app_id);
    let begun = database.begin_erasure(&actor, app_id, &alice).await.unwrap();
    database.continue_erasure(app_id, begun.pseudonym, 100).await.unwrap();
    point.off().await;
    let step = database.get_erasure(app_id, begun.pseudonym).await.unwrap().unwrap();
    assert!((1..CHATS).contains(&step.searched), "{}", step.searched);
    let ended = finish(&database, begun, 100).await;
    assert_eq!((ended.searched, ended.erased["chats"]), (2 * CHATS, CHATS));
}

#[tokio::test]
async fn context_snapshots_that_are_being_moved_are_erased() {
    let (server, database) = faults::database().await;
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let token = Uuid7Ids.mint("token_");
    let person = UserId::parse(&token).unwrap();
    let new = NewChatSession {
        user_id: Some(person.clone()),
        ..NewChatSession::of(WorkflowName::parse("Generator").unwrap())
    };
    let own = database.create_chat(&scope(), new).await.unwrap().chat_id;
    database.append(&scope(), &own, faults::message(None)).await.unwrap();
    let said = serde_json::from_value(json!({ "said": token })).unwrap();
    database.update_context_snapshot(&scope(), &own, said).await.unwrap();
    let new = NewFork { user_id: UserId::parse("somebody").ok(), ..NewFork::default() };
    let fork = database.fork_chat(&scope(), &own, new).await.unwrap().chat_id;
    // As long as the snapshots wait for their insert, the erasure goes on.
    let wait = doc! {
        "failCommands": ["insert"],
        "namespace": format!("{}.context_snapshots", database.options.database),
        "appName": "under-test",
        "blockConnection": true,
        "blockTimeMS": 3_000,
    };
    let point = FailPoint::set(&client, "failCommand", "alwaysOn", wait).await;
    for n in 0..9 {
        let mine = serde_json::from_value(json!({ "mine": n })).unwrap();
        database.merge_context_snapshot(&scope(), &fork, mine).await.unwrap();
    }
    while !point.is_hit().await {}
    erase(&database, &person, 2).await;
    assert!(point.off().await > 0);
    database.finish_tasks().await;
    assert_eq!(holding(&database, &token).await, [].into());
    verify(&database).await;
}

/// A place that an erasure forgets is found: the search of the test above is not blind.
#[tokio::test]
async fn the_search_for_what_is_left_sees_every_place() {
    let database = Database::create_unsealed().await;
    for stored in persistence::mongo::COLLECTIONS {
        let bytes = Binary { subtype: bson::spec::BinarySubtype::Generic, bytes: b"left".to_vec() };
        let left = doc! { "_id": "x", "deep": [{ "field": bytes }] };
        database.insert(stored.name, left).await;
        assert!(holding(&database, "left").await.contains_key(stored.name), "{}", stored.name);
    }
}
