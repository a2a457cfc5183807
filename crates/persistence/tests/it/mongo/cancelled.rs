//! Cancelled callers: their calls end properly, and other callers do not wait for them.

use std::future::{Future, poll_fn};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bson::doc;
use local_mongod::{LocalMongod, Options};
use persistence::memory::MemoryStore;
use persistence::mongo::{MongoStore, WalletVerification};
use persistence::{Artifacts, Billing, ChatSessions, MessageRange, Messages, Store};
use records::{
    CallId, ChatId, ChatStatus, EntryId, EventId, InputKind, InputRequestId, JsonObject,
    MessageBody, MessageEdit, MicroDollars, Model, NewArtifact, NewChatSession, NewFork,
    NewInputAnswer, NewInputRequest, NewLease, NewMessage, NewProviderCall, NewTurn,
    NewWalletEntry, Owner, Question, StackFrame, StackId, Step, StepKind, StepStatus, TurnId,
    TurnMessage, TurnOutcome, UserId, WorkflowName,
};
use serde_json::json;
use tokio::time::{Instant, sleep, timeout};

use super::database::Database;
use super::faults::{FailPoint, chat, message, scope};

/// The number of chats that are written at the same time.
const CHATS: usize = 8;

/// Starts a server with the default lifetime of open transactions, one minute.
async fn database() -> (LocalMongod, Database) {
    let server = LocalMongod::start(Options::for_tests()).await.unwrap();
    let uri = server.uri().to_owned();
    let client = mongodb::Client::with_uri_str(&uri).await.unwrap();
    let lifetime = doc! { "setParameter": 1, "transactionLifetimeLimitSeconds": 60 };
    client.database("admin").run_command(lifetime).await.unwrap();
    let database = Database::create_with(|options| options.uri = uri.into()).await;
    (server, database)
}

/// Drops a call after this many polls or this time, whichever comes first.
async fn dropped<T>(polls: u32, after: Duration, call: impl Future<Output = T>) -> Option<T> {
    let mut call = Box::pin(call);
    let mut left = polls;
    let polled = poll_fn(move |cx| {
        if left == 0 {
            return Poll::Ready(None);
        }
        left -= 1;
        call.as_mut().poll(cx).map(Some)
    });
    timeout(after, polled).await.ok().flatten()
}

fn object(value: &serde_json::Value) -> JsonObject {
    value.as_object().unwrap().clone()
}

fn body(content: &str) -> MessageBody {
    MessageBody::new("assistant", Some("planner"), content)
}

fn messages(round: usize, count: usize) -> Vec<NewMessage> {
    let id = |index| EventId::parse(format!("evt_{round}_{index}")).unwrap();
    (0..count)
        .map(|index| NewMessage { event_id: Some(id(index)), ..body("hello").into() })
        .collect()
}

fn call(round: usize) -> NewProviderCall {
    NewProviderCall {
        call_id: Some(CallId::parse(format!("call_{round}")).unwrap()),
        prompt_tokens: 10,
        completion_tokens: 5,
        cost: MicroDollars::new(7).unwrap(),
        used: Model::default(),
        ..NewProviderCall::default()
    }
}

fn question(round: usize) -> NewInputRequest {
    NewInputRequest {
        request_id: Some(InputRequestId::parse(format!("ask_{round}")).unwrap()),
        question: question_of("Go on?"),
        expires_in_sec: None,
    }
}

fn question_of(prompt: &str) -> Question {
    Question {
        prompt: prompt.to_owned(),
        agent: None,
        kind: InputKind::Text,
        options: Vec::new(),
        tool_call: None,
        metadata: JsonObject::new(),
    }
}

fn turn(round: usize, outcome: TurnOutcome) -> NewTurn {
    let steps = match outcome {
        TurnOutcome::Completed => Vec::new(),
        _ => vec![Step {
            kind: StepKind::Llm,
            status: StepStatus::Failed,
            frame: StackFrame {
                stack_id: StackId::parse("stack_1").unwrap(),
                parent_id: None,
                depth: 0,
            },
            error: Some("away".to_owned()),
            assistant_id: None,
            input: None,
            output: None,
            space_snapshot: JsonObject::new(),
            metadata: JsonObject::new(),
        }],
    };
    NewTurn {
        request_id: TurnId::parse(format!("turn_{round}")).unwrap(),
        outcome,
        messages: vec![TurnMessage { body: body("said"), author: None }],
        steps,
        connector: None,
        mode: None,
    }
}

fn entry(round: usize) -> NewWalletEntry {
    let entry_id = EntryId::parse(format!("entry_{round}")).unwrap();
    NewWalletEntry { entry_id, amount: 3, reason: None }
}

/// Makes the call of a round on a store. A call is refused if earlier calls do not allow it.
async fn act(store: &dyn Store, chat_id: &ChatId, user_id: &UserId, round: usize) {
    let (scope, free) = (&scope(), Billing::Free);
    let earlier = round.saturating_sub(1);
    let id = |prefix: &str| format!("{prefix}_{earlier}");
    match round % 20 {
        0 => drop(store.append(scope, chat_id, messages(round, 1)).await),
        1 => drop(store.set_status(scope, chat_id, ChatStatus::Paused, Some("wait")).await),
        2 => drop(store.set_status(scope, chat_id, ChatStatus::Running, None).await),
        3 => drop(store.record_calls(scope, chat_id, vec![call(round)], free).await),
        4 => {
            let call_id = CallId::parse(id("call")).unwrap();
            drop(store.delete_call(scope, chat_id, &call_id).await);
        }
        5 => {
            let messages = messages(round, 2);
            drop(store.append_exchange(scope, chat_id, messages, call(round), free).await);
        }
        6 | 8 => drop(store.request_input(scope, chat_id, question(round)).await),
        7 => {
            let request_id = InputRequestId::parse(id("ask")).unwrap();
            let event_id = Some(EventId::parse(format!("answer_{round}")).unwrap());
            let (name, author, tool_call) = (None, None, None);
            let answer =
                NewInputAnswer { event_id, name, author, content: json!("yes"), tool_call };
            drop(store.answer_input_request(scope, chat_id, &request_id, answer).await);
        }
        9 => {
            let request_id = InputRequestId::parse(id("ask")).unwrap();
            drop(store.cancel_input_request(scope, chat_id, &request_id, None).await);
        }
        10 => drop(store.append_turn(scope, chat_id, turn(round, TurnOutcome::Completed)).await),
        11 => drop(store.append_turn(scope, chat_id, turn(round, TurnOutcome::Failed)).await),
        12 => drop(store.delete_resume_points(scope, chat_id, None).await),
        13 => {
            let edit = MessageEdit { content: Some(json!(round)), ..MessageEdit::default() };
            drop(store.update_message(scope, chat_id, 0, edit).await);
        }
        14 => {
            let data = object(&json!({ "round": round }));
            drop(store.update_context_snapshot(scope, chat_id, data).await);
        }
        15 => {
            let patch = object(&json!({ "merged": round }));
            drop(store.merge_context_snapshot(scope, chat_id, patch).await);
        }
        16 => {
            let payload = json!({ "round": round, "large": "x".repeat(6_000) });
            let artifact = NewArtifact { payload, ..NewArtifact::default() };
            drop(store.update_last_artifact(scope, chat_id, artifact).await);
        }
        17 => {
            let chat_id_of_fork = ChatId::parse(format!("{chat_id}_fork_{round}")).unwrap();
            let fork = NewFork { chat_id: Some(chat_id_of_fork), ..NewFork::default() };
            drop(store.fork_chat(scope, chat_id, fork).await);
        }
        18 => {
            let owner = Owner::parse("worker_1").unwrap();
            let lease = NewLease { lease_id: None, owner, ttl: Duration::from_secs(30) };
            if let Ok(lease) = store.acquire_lease(scope, chat_id, lease).await {
                drop(store.release_lease(scope, chat_id, lease.fencing_token).await);
            }
        }
        _ => {
            drop(store.credit(scope, user_id, entry(round)).await);
            drop(store.join_chat(scope, chat_id, user_id, None).await);
        }
    }
}

/// Repeats a call of a round whose order does not matter, and waits until it succeeds.
async fn repeat(store: &dyn Store, chat_id: &ChatId, user_id: &UserId, round: usize) {
    let scope = &scope();
    match round % 20 {
        0 => drop(store.append(scope, chat_id, messages(round, 1)).await.unwrap()),
        10 => {
            let turn = turn(round, TurnOutcome::Completed);
            drop(store.append_turn(scope, chat_id, turn).await.unwrap());
        }
        19 => drop(store.credit(scope, user_id, entry(round)).await.unwrap()),
        _ => {}
    }
}

async fn open_transactions(database: &Database) -> i64 {
    let admin = database.raw.client().database("admin");
    let status = admin.run_command(doc! { "serverStatus": 1 }).await.unwrap();
    status.get_document("transactions").unwrap().get_i64("currentOpen").unwrap()
}

/// Checks that writes whose callers were dropped end and leave no transaction open.
async fn no_transaction_is_open(database: &Database) {
    let ending = timeout(Duration::from_secs(30), database.finish_tasks()).await;
    ending.expect("a write without a caller does not end");
    let ended = Instant::now();
    while open_transactions(database).await > 0 {
        assert!(ended.elapsed() < Duration::from_secs(1), "a transaction is still open");
        sleep(Duration::from_millis(20)).await;
    }
}

fn user(index: usize) -> UserId {
    UserId::parse(format!("user_{index}")).unwrap()
}

async fn new_chat(store: &dyn Store, index: usize) -> ChatId {
    let chat_id = Some(ChatId::parse(format!("chat_{index}")).unwrap());
    let of = NewChatSession::of(WorkflowName::parse("Generator").unwrap());
    let chat_id =
        store.create_chat(&scope(), NewChatSession { chat_id, ..of }).await.unwrap().chat_id;
    store.ensure_wallet(&scope(), &user(index), 0).await.unwrap();
    store.append(&scope(), &chat_id, message(Some("first"))).await.unwrap();
    chat_id
}

/// Makes this many calls and drops many of them early. Then checks that they leave no transaction open and that all
/// records are consistent.
async fn drop_calls(calls: usize) {
    let (_server, database) = database().await;
    let rounds = calls / CHATS;
    let writers = (0..CHATS).map(|index| {
        let store = database.as_dyn();
        tokio::spawn(async move {
            let (chat_id, user_id) = (new_chat(&*store, index).await, user(index));
            for round in 0..rounds {
                let polls = if round % 2 == 0 { fastrand::u32(1..24) } else { u32::MAX };
                let after = Duration::from_micros(fastrand::u64(200..5_000));
                dropped(polls, after, act(&*store, &chat_id, &user_id, round)).await;
            }
            chat_id
        })
    });
    let chat_ids: Vec<ChatId> =
        futures::future::join_all(writers).await.into_iter().map(Result::unwrap).collect();

    no_transaction_is_open(&database).await;
    for chat_id in &chat_ids {
        let scope = scope();
        drop(database.set_status(&scope, chat_id, ChatStatus::Running, None).await);
        let append = database.append(&scope, chat_id, message(Some("last")));
        let append = timeout(Duration::from_secs(3), append).await;
        append.expect("an append waits for a dropped call").unwrap();
    }
    for workflow in database.counted_workflows(None).await.unwrap() {
        let mut differences = Vec::new();
        let mut tell = |difference| differences.push(difference);
        database.verify_stats(&workflow, &|| {}, &mut tell).await.unwrap();
        assert!(differences.is_empty(), "{differences:?}");
    }
    let mut differences = Vec::new();
    let mut tell = |proof: WalletVerification<'_>| {
        if let WalletVerification::Difference(wallet, words) = proof {
            differences.push(format!("{}: {words}", wallet.user_id));
        }
    };
    database.verify_wallets(None, &mut tell).await.unwrap();
    assert!(differences.is_empty(), "{differences:?}");
    agree(&database, &chat_ids, rounds).await;
}

/// Compares everything that does not depend on the order of calls with a memory store.
async fn agree(database: &Database, chat_ids: &[ChatId], rounds: usize) {
    let (mongo, memory): (_, Arc<dyn Store>) =
        (database.as_dyn(), Arc::new(MemoryStore::default()));
    for (index, chat_id) in chat_ids.iter().enumerate() {
        new_chat(&*memory, index).await;
        for round in 0..rounds {
            repeat(&*mongo, chat_id, &user(index), round).await;
            repeat(&*memory, chat_id, &user(index), round).await;
        }
        let wallet =
            |wallet: Option<records::Wallet>| wallet.map(|it| (it.balance, it.entry_count));
        let ours = mongo.get_wallet(&scope(), &user(index)).await.unwrap();
        let theirs = memory.get_wallet(&scope(), &user(index)).await.unwrap();
        assert_eq!(wallet(ours), wallet(theirs), "{chat_id}");
        let range = MessageRange::all();
        let page = mongo.messages(&scope(), chat_id, range).await.unwrap();
        let sequences = page.messages.iter().map(|message| message.sequence);
        assert!(sequences.eq(0..page.messages.len() as u64), "{chat_id} has a gap");
        let mut ids: Vec<_> = page.messages.iter().map(|message| &message.event_id).collect();
        ids.sort();
        assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "{chat_id} has a duplicate id");
        let expected = memory.messages(&scope(), chat_id, range).await.unwrap();
        for message in &expected.messages {
            assert!(ids.contains(&&message.event_id), "{} is missing", message.event_id);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn calls_dropped_after_any_number_of_polls_leave_no_transaction_open() {
    drop_calls(2_000).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
#[ignore = "takes minutes; .ci/long runs it"]
async fn ten_thousand_dropped_calls_leave_no_transaction_open() {
    drop_calls(10_000).await;
}

/// A transaction keeps the chat locked while many more writes to it arrive than there are connections. The
/// transaction must still get a connection for its next command.
#[tokio::test]
async fn writes_that_wait_for_a_transaction_leave_it_a_connection() {
    let (server, mut database) = super::faults::database().await;
    database.options.max_pool_size = 8;
    database.options.deadline = Duration::from_secs(4);
    let store = MongoStore::connect(&database.options).await.unwrap();
    let client = mongodb::Client::with_uri_str(server.uri()).await.unwrap();
    let chat_id = chat(&database).await;
    let slow = doc! {
        "failCommands": ["insert"], "appName": "under-test",
        "blockConnection": true, "blockTimeMS": 1_000,
    };
    let point = FailPoint::set(&client, "failCommand", doc! { "times": 1 }, slow).await;
    let scope = scope();
    let moving = store.set_status(&scope, &chat_id, ChatStatus::Paused, None);
    let writing = async {
        sleep(Duration::from_millis(300)).await;
        let artifact =
            |number: usize| NewArtifact { payload: json!(number), ..NewArtifact::default() };
        let writes = (0..40).map(|number| {
            let (store, scope, chat_id) = (&store, &scope, &chat_id);
            async move { store.update_last_artifact(scope, chat_id, artifact(number)).await }
        });
        futures::future::try_join_all(writes).await
    };
    let (moved, written) = tokio::join!(moving, writing);
    assert_eq!(point.off().await, 1);
    moved.unwrap();
    assert_eq!(written.unwrap().len(), 40);
}

/// The server delays the first command of the transaction, and its caller is cancelled meanwhile.
#[tokio::test]
async fn a_status_change_with_a_cancelled_caller_locks_no_chat() {
    let (_server, database) = database().await;
    let chat_id = chat(&database).await;
    for round in 0..40 {
        let next = if round % 2 == 0 { ChatStatus::Paused } else { ChatStatus::Running };
        let scope = scope();
        let moving = database.set_status(&scope, &chat_id, next, None);
        let after = Duration::from_micros(500 + 100 * round);
        dropped(u32::MAX, after, moving).await;
    }
    let appending = database.append(&scope(), &chat_id, message(None)).await;
    appending.unwrap();
    no_transaction_is_open(&database).await;
}
