//! Input requests over HTTP: asked, waited for, sent to subscribers and answered.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use insta::assert_json_snapshot;
use persistence::InputRequests as _;
use persistence::memory::MemoryStore;
use records::{AppId, ChatId, NewInputRequest, Question, Scope};
use serde_json::{Value, json};
use service::{AuthConfig, Config, LimitsConfig};
use tokio::time::{sleep, timeout};

use crate::events::Reader;
use crate::harness::{Answer, Client, memory};
use crate::tokens::{client, hs256, seconds, token};

async fn ask(client: &Client, chat: &str, question: Value) -> Answer {
    client.post(&format!("{chat}/input-requests"), question).await
}

async fn answer(client: &Client, chat: &str, request: &str, answer: Value) -> Answer {
    client.post(&format!("{chat}/input-requests/{request}/answer"), answer).await
}

async fn state(client: &Client, chat: &str, request: &str) -> String {
    let answer = client.get(&format!("{chat}/input-requests/{request}")).await;
    answer.body()["state"].as_str().unwrap().to_owned()
}

fn choice() -> Value {
    json!({
        "request_id": "q1", "prompt": "Which database?", "agent": "architect", "kind": "choice",
        "options": ["MongoDB", "SQLite"], "metadata": {"component_type": "composer"},
        "expires_in_sec": 3_600,
    })
}

#[tokio::test]
async fn a_question_is_asked_shown_and_answered_once() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let asked = ask(&client, &chat, choice()).await;
    assert_eq!(asked.status, 201, "{}", asked.text);
    assert_json_snapshot!("asked", asked.snapshot());
    assert_eq!(ask(&client, &chat, choice()).await.status, 200);
    let meta = client.get(&format!("{chat}/meta")).await.body();
    assert_eq!((&meta["status"], &meta["status_reason"]), (&json!(2), &json!("awaiting input")));
    assert_eq!(meta["pending_inputs"], json!([asked.record()]));
    assert_eq!(client.get(&chat).await.body()["pending_inputs"], json!(["q1"]));

    let wrong = answer(&client, &chat, "q1", json!({"content": "Oracle"})).await;
    assert_json_snapshot!("no_option", wrong.snapshot());
    let mine = json!({"content": "MongoDB", "event_id": "e1", "name": "ada"});
    let answered = answer(&client, &chat, "q1", mine.clone()).await;
    assert_eq!(answered.status, 201);
    assert_json_snapshot!("answered", answered.snapshot());
    let again = answer(&client, &chat, "q1", mine).await;
    assert_eq!((again.status, &again.body()["message"]["duplicate"]), (200, &json!(true)));
    let late = answer(&client, &chat, "q1", json!({"content": "SQLite"})).await;
    assert_json_snapshot!("closed", late.snapshot());
    let listed = client.get(&format!("{chat}/input-requests")).await.body();
    assert_eq!(listed["data"], json!([answered.body()["input_request"]]));
    let messages = client.get(&format!("{chat}/messages")).await.body();
    assert_json_snapshot!("messages", messages["data"]);
    assert_eq!(client.get(&chat).await.body()["status"], "running");
}

#[tokio::test]
async fn invalid_questions_and_answers_are_refused() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    for (question, pointer) in [
        (json!({"prompt": ""}), "/prompt"),
        (json!({"prompt": "?", "kind": "choice"}), "/options"),
        (json!({"prompt": "?", "kind": "guess"}), "/kind"),
        (json!({"prompt": "?", "expires_in_sec": 0}), "/expires_in_sec"),
        (json!({"prompt": "?", "request_id": "\n"}), "/request_id"),
        (json!({"prompt": "?", "state": "answered"}), "/state"),
        (json!({"prompt": {"$ne": null}}), "/prompt"),
    ] {
        let refused = ask(&client, &chat, question.clone()).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{question}");
        assert_eq!(refused.body()["errors"][0]["pointer"], pointer, "{question}");
    }
    let large = ask(&client, &chat, json!({"prompt": "x".repeat(17 << 10)})).await;
    assert_eq!(large.problem(), (413, "input-too-large".to_owned()));
    assert_eq!(client.get(&chat).await.body()["status"], "running");
    ask(&client, &chat, choice()).await;
    let other = ask(&client, &chat, json!({"request_id": "q1", "prompt": "?"})).await;
    assert_eq!(other.problem(), (409, "input-conflict".to_owned()));
    let unknown = answer(&client, &chat, "q2", json!({"content": "a"})).await;
    assert_eq!(unknown.problem(), (404, "input-not-found".to_owned()));
    let taken = json!({"content": "MongoDB", "event_id": "e1"});
    client
        .post(&format!("{chat}/messages"), json!({"event_id": "e1", "role": "user", "content": 1}))
        .await;
    let taken = answer(&client, &chat, "q1", taken).await;
    assert_eq!(taken.problem(), (409, "event-conflict".to_owned()));
    assert_eq!(taken.body()["errors"][0]["pointer"], "/event_id");
    for wait in ["61s", "-1", "+1", "1.5s", "forever", ""] {
        let refused = client.get(&format!("{chat}/input-requests/q1?wait={wait}")).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{wait}");
    }
    client.poke(&format!("{chat}/complete")).await;
    assert_eq!(state(&client, &chat, "q1").await, "chat_ended");
    assert_eq!(ask(&client, &chat, json!({"prompt": "?"})).await.problem().1, "chat-ended");
}

#[tokio::test]
async fn an_answer_holds_for_the_arguments_that_were_shown() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let call = json!({"id": "call_1", "name": "rm", "arguments": {"path": "/tmp/a", "$set": 1}});
    let question =
        json!({"request_id": "q1", "prompt": "May I?", "kind": "confirm", "tool_call": call});
    let asked = ask(&client, &chat, question).await.body();
    let hash = asked["tool_call"]["arguments_hash"].as_str().unwrap().to_owned();
    let other = json!({"id": "call_1", "name": "rm", "arguments": {"path": "/"}});
    for tool_call in [Value::Null, other] {
        let yes = json!({"content": true, "tool_call": tool_call});
        let refused = answer(&client, &chat, "q1", yes).await;
        assert_eq!(refused.problem(), (409, "tool-call-mismatch".to_owned()), "{tool_call}");
    }
    for odd in [
        json!({"id": "call_1", "name": "rm"}),
        json!({"id": "call_1", "name": "rm", "arguments_hash": "xyz"}),
        json!({"id": "call_1", "name": "rm", "arguments_hash": hash, "arguments": {}}),
    ] {
        let refused =
            answer(&client, &chat, "q1", json!({"content": true, "tool_call": odd})).await;
        assert_eq!(refused.problem(), (422, "invalid-request".to_owned()), "{odd}");
    }
    let shown = json!({"id": "call_1", "name": "rm", "arguments_hash": hash});
    let given = answer(&client, &chat, "q1", json!({"content": true, "tool_call": shown})).await;
    assert_eq!(given.status, 201, "{}", given.text);
    // The arguments are accepted instead of their hash.
    let again = json!({"prompt": "May I?", "request_id": "q2", "tool_call": call});
    ask(&client, &chat, again).await;
    let given = answer(&client, &chat, "q2", json!({"content": "yes", "tool_call": call})).await;
    assert_eq!(given.status, 201, "{}", given.text);
}

#[tokio::test]
async fn a_wait_ends_as_soon_as_the_request_is_closed() {
    let client = Client::over(memory(), Config::default());
    let chat = client.create_chat("c1").await;
    ask(&client, &chat, json!({"request_id": "q1", "prompt": "?"})).await;
    let waiting = join_all((0..4).map(|_| {
        let (client, url) = (client.clone(), format!("{chat}/input-requests/q1?wait=60s"));
        async move { client.get(&url).await }
    }));
    let answering = async {
        sleep(Duration::from_millis(50)).await;
        client.post(&format!("{chat}/messages"), json!({"role": "user", "content": "hm"})).await;
        answer(&client, &chat, "q1", json!({"content": "SQLite"})).await
    };
    let (waited, answered) = tokio::join!(waiting, answering);
    for waited in waited {
        assert_eq!(waited.body(), answered.body()["input_request"]);
    }
    ask(&client, &chat, json!({"prompt": "?", "request_id": "q2"})).await;
    let in_vain = client.get(&format!("{chat}/input-requests/q2?wait=1")).await;
    assert_eq!(in_vain.body()["state"], "pending");
    let cancelling = async {
        sleep(Duration::from_millis(50)).await;
        let reason = json!({"reason": "no longer of interest"});
        client.post(&format!("{chat}/input-requests/q2/cancel"), reason).await
    };
    let url = format!("{chat}/input-requests/q2?wait=60s");
    let (waited, cancelled) = tokio::join!(client.get(&url), cancelling);
    assert_eq!(waited.body(), cancelled.body());
    assert_json_snapshot!("cancelled", cancelled.snapshot());
}

#[tokio::test]
async fn a_wait_ends_when_the_request_expires() {
    let client = Client::over(Arc::new(MemoryStore::default()), Config::default());
    let chat = client.create_chat("c1").await;
    ask(&client, &chat, json!({"request_id": "q1", "prompt": "?", "expires_in_sec": 1})).await;
    let waited = client.get(&format!("{chat}/input-requests/q1?wait=60s")).await;
    assert_eq!(waited.body()["state"], "expired");
}

#[tokio::test]
async fn overdue_questions_are_closed_and_their_chats_run_on() {
    let store = Arc::new(MemoryStore::default());
    let client = Client::over(Arc::<MemoryStore>::clone(&store), Config::default());
    let chat = client.create_chat("c1").await;
    let mut reader = Reader::open(&client, &format!("{chat}/events"), None).await;
    let expiring = tokio::spawn(service::expire_input_requests(store));
    ask(&client, &chat, json!({"request_id": "q1", "prompt": "?", "expires_in_sec": 1})).await;
    let told = reader.until("input-response").await;
    assert_eq!(told.last().unwrap().data["state"], "expired");
    assert_eq!(client.get(&chat).await.body()["status"], "running");
    expiring.abort();
}

#[tokio::test]
async fn questions_and_answers_are_sent_at_once_and_to_later_subscribers() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let mut early = Reader::open(&client, &format!("{chat}/events"), None).await;
    early.until("caught-up").await;
    let asked = ask(&client, &chat, choice()).await.record();
    let told = early.until("input-request").await;
    assert_eq!(told.last().unwrap().data, asked);
    let mut late = Reader::open(&client, &format!("{chat}/events"), None).await;
    let caught_up = late.until("caught-up").await;
    assert_eq!(caught_up.last().unwrap().data["pending_inputs"], json!(["q1"]));
    assert_eq!(late.next().await.unwrap().data, asked);
    let answered = answer(&client, &chat, "q1", json!({"content": "MongoDB"})).await.body();
    for reader in [&mut early, &mut late] {
        let told = reader.until("input-response").await;
        let names: Vec<_> = told.iter().map(|event| event.name.as_str()).collect();
        assert!(names.contains(&"message"), "the message comes first: {names:?}");
        assert_eq!(told.last().unwrap().data, answered["input_request"]);
    }
    // A later subscriber is sent no question.
    let mut last = Reader::open(&client, &format!("{chat}/events"), None).await;
    let caught_up = last.until("caught-up").await;
    assert_eq!(caught_up.last().unwrap().data["pending_inputs"], json!([]));
}

#[tokio::test]
async fn every_question_is_sent_once_at_any_rate() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let mut reader = Reader::open(&client, &format!("{chat}/events"), None).await;
    reader.until("caught-up").await;
    let asking = async {
        for n in 0..200 {
            let request = format!("q{n}");
            ask(&client, &chat, json!({"request_id": request, "prompt": "?"})).await;
            answer(&client, &chat, &request, json!({"content": n})).await;
        }
    };
    let reading = async {
        let mut answers = Vec::new();
        while answers.len() < 200 {
            let event = reader.next().await.unwrap();
            if event.name == "input-response" {
                answers.push(event.data["answer"]["content"].clone());
            }
        }
        answers
    };
    let ((), answers) = tokio::join!(asking, reading);
    assert_eq!(answers, (0..200).map(Value::from).collect::<Vec<_>>());
}

#[tokio::test]
async fn waits_above_the_subscriber_limit_are_refused() {
    let limits = LimitsConfig { subscribers_per_chat: 1, ..LimitsConfig::default() };
    let client = Client::over(memory(), Config { limits, ..Config::default() });
    let chat = client.create_chat("c1").await;
    ask(&client, &chat, choice()).await;
    let mut reader = Reader::open(&client, &format!("{chat}/events"), None).await;
    reader.until("caught-up").await;
    let refused = client.get(&format!("{chat}/input-requests/q1?wait=60s")).await;
    assert_eq!(refused.problem(), (503, "too-many-subscribers".to_owned()));
    assert_eq!(client.get(&format!("{chat}/input-requests/q1")).await.status, 200);
}

#[tokio::test]
async fn an_input_answers_the_pending_request() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let say = "/chat/acme_corp/c1/ada/input";
    let said = client.post(say, json!({"message": "hello", "event_id": "e1"})).await;
    assert_eq!(said.status, 201, "{}", said.text);
    assert_json_snapshot!("said", said.snapshot());
    assert_eq!(client.post(say, json!({"message": "hello", "event_id": "e1"})).await.status, 200);
    ask(&client, &chat, json!({"request_id": "q1", "prompt": "Sure?", "kind": "confirm"})).await;
    let odd = client.post(say, json!({"message": "perhaps"})).await;
    assert_eq!(odd.body()["errors"][0]["pointer"], "/message", "{}", odd.text);
    let said = client.post(say, json!({"message": "true"})).await;
    assert_eq!(said.body()["request_id"], "q1");
    let question = client.get(&format!("{chat}/input-requests/q1")).await.body();
    assert_eq!(
        (&question["answer"]["content"], &question["answer"]["name"]),
        (&json!(true), &json!("ada"))
    );
    for request in ["q2", "q3"] {
        ask(&client, &chat, json!({"request_id": request, "prompt": "?"})).await;
    }
    let unnamed = client.post(say, json!({"message": "x"})).await;
    assert_eq!(unnamed.body()["errors"][0]["pointer"], "/request_id");
    let named = client.post(say, json!({"message": "x", "request_id": "q3"})).await;
    assert_eq!(named.body()["request_id"], "q3");
    let blank = client.post(say, json!({"message": " \n"})).await;
    assert_eq!(blank.problem(), (422, "invalid-request".to_owned()));
    let unknown = client.post("/chat/acme_corp/c2/ada/input", json!({"message": "x"})).await;
    assert_eq!(unknown.problem(), (404, "chat-not-found".to_owned()));
}

#[tokio::test]
async fn an_answer_finds_its_request_by_its_id() {
    let client = Client::open();
    let (one, other) = (client.create_chat("c1").await, client.create_chat("c2").await);
    ask(&client, &one, json!({"request_id": "q1", "prompt": "?"})).await;
    let submit = async |changes: Value| {
        let mut body = json!({"app_id": "acme_corp", "input_request_id": "q1", "user_input": "so"});
        body.as_object_mut().unwrap().extend(changes.as_object().unwrap().clone());
        client.post("/api/user-input/submit", body).await
    };
    for (changes, status, slug) in [
        (json!({"app_id": null}), 400, "invalid-app-id"),
        (json!({"app_id": "globex"}), 404, "input-not-found"),
        (json!({"input_request_id": "q2"}), 404, "input-not-found"),
        (json!({"user_input": ""}), 422, "invalid-request"),
    ] {
        assert_eq!(submit(changes.clone()).await.problem(), (status, slug.to_owned()), "{changes}");
    }
    ask(&client, &other, json!({"request_id": "q1", "prompt": "?"})).await;
    let ambiguous = submit(json!({})).await;
    assert_eq!(ambiguous.body()["errors"][0]["pointer"], "/chat_id");
    let submitted = submit(json!({"chat_id": "c2"})).await;
    assert_json_snapshot!("submitted", submitted.snapshot());
    let late = submit(json!({"chat_id": "c2"})).await;
    assert_eq!(late.problem(), (409, "input-closed".to_owned()));
}

#[tokio::test]
async fn a_user_submits_inputs_only_for_themselves() {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"role": "service"})));
    let new =
        json!({"chat_id": "c1", "workflow_name": "w", "user_id": "alice", "visibility": "private"});
    assert_eq!(service.post("/api/chats/acme_corp", new).await.status, 201);
    let chat = "/api/chats/acme_corp/c1";
    ask(&service, chat, json!({"request_id": "q1", "prompt": "?"})).await;
    let alice = client.with_token(token(&json!({"sub": "alice", "role": "user"})));
    let mallory = client.with_token(token(&json!({"sub": "mallory", "role": "user"})));
    let text = json!({"message": "x"});
    let as_alice = mallory.post("/chat/acme_corp/c1/alice/input", text.clone()).await;
    assert_eq!(as_alice.problem(), (403, "forbidden-owner".to_owned()));
    for path in ["/chat/acme_corp/c1/mallory/input"] {
        assert_eq!(mallory.post(path, text.clone()).await.problem().0, 404);
    }
    let submitted = json!({"app_id": "acme_corp", "input_request_id": "q1", "user_input": "x"});
    let refused = mallory.post("/api/user-input/submit", submitted).await;
    assert_eq!(refused.problem(), (404, "input-not-found".to_owned()));
    let refused = answer(&mallory, chat, "q1", json!({"content": "x"})).await;
    assert_eq!(refused.problem(), (404, "chat-not-found".to_owned()));
    let said = alice.post("/chat/acme_corp/c1/alice/input", text).await;
    assert_eq!((said.status, &said.body()["request_id"]), (201, &json!("q1")));
    let question = alice.get(&format!("{chat}/input-requests/q1")).await.body();
    assert_eq!(question["answer"]["name"], "alice");
}

#[tokio::test]
async fn a_repeated_input_is_recognised_whatever_is_pending() {
    let client = Client::open();
    let chat = client.create_chat("c1").await;
    let say = "/chat/acme_corp/c1/ada/input";
    let hello = json!({"message": "hello", "event_id": "e1"});
    assert_eq!(client.post(say, hello.clone()).await.status, 201);
    ask(&client, &chat, json!({"request_id": "q1", "prompt": "Sure?", "kind": "confirm"})).await;
    let again = client.post(say, hello.clone()).await;
    assert_eq!((again.status, &again.body()["request_id"]), (200, &Value::Null));
    let yes = json!({"message": "true", "event_id": "e2"});
    assert_eq!(client.post(say, yes.clone()).await.body()["request_id"], "q1");
    for request in ["q2", "q3"] {
        ask(&client, &chat, json!({"request_id": request, "prompt": "?"})).await;
    }
    let again = client.post(say, yes).await;
    assert_eq!((again.status, &again.body()["request_id"]), (200, &json!("q1")));
    assert_eq!(client.get(&chat).await.body()["last_sequence"], 2);
    let other = json!({"message": "good-bye", "event_id": "e1", "request_id": "q2"});
    let taken = client.post(say, other).await;
    assert_eq!(taken.problem(), (409, "event-conflict".to_owned()));
    assert_eq!(taken.body()["errors"][0]["pointer"], "/event_id");
}

#[tokio::test]
async fn a_closed_request_of_another_chat_does_not_hide_a_pending_one() {
    let client = Client::open();
    let (one, other) = (client.create_chat("c1").await, client.create_chat("c2").await);
    for chat in [&one, &other] {
        ask(&client, chat, json!({"request_id": "q1", "prompt": "?"})).await;
    }
    client.poke(&format!("{one}/complete")).await;
    let body = json!({"app_id": "acme_corp", "input_request_id": "q1", "user_input": "so"});
    let submitted = client.post("/api/user-input/submit", body).await;
    assert_eq!((submitted.status, &submitted.body()["chat_id"]), (201, &json!("c2")));
}

#[tokio::test]
async fn an_answer_by_its_id_alone_is_stored_in_no_chat_of_another_person() {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"sub": "orchestrator", "role": "service"})));
    let of = |sub: &str| client.with_token(token(&json!({"sub": sub})));
    for (chat, owner) in [("c1", "alice"), ("c2", "mallory")] {
        let new = json!({"chat_id": chat, "workflow_name": "w", "user_id": owner});
        assert_eq!(service.post("/api/chats/acme_corp", new).await.status, 201);
        let question = json!({"request_id": "q1", "prompt": "?"});
        ask(&service, &format!("/api/chats/acme_corp/{chat}"), question).await;
    }
    let members = "/api/chats/acme_corp/c2/members/alice";
    assert_eq!(of("mallory").put(members, json!({})).await.status, 201);
    let body = json!({"app_id": "acme_corp", "input_request_id": "q1", "user_input": "secret"});
    let named = json!({"chat_id": "c2", "app_id": "acme_corp", "input_request_id": "q1", "user_input": "x"});

    let submitted = of("alice").post("/api/user-input/submit", body.clone()).await;
    assert_eq!((submitted.status, &submitted.body()["chat_id"]), (201, &json!("c1")));
    let again = of("alice").post("/api/user-input/submit", body).await;
    assert_ne!(again.status, 201, "{}", again.text);
    let other = service.get("/api/chats/acme_corp/c2").await.body();
    assert_eq!(other["last_sequence"], 0, "her closed question is not answered elsewhere");
    // She may answer there, if she says so.
    assert_eq!(of("alice").post("/api/user-input/submit", named).await.status, 201);
}

#[tokio::test]
async fn an_answer_names_its_author() {
    let client = client(hs256());
    let service = client.with_token(token(&json!({"role": "service"})));
    let new = json!({"chat_id": "c1", "workflow_name": "w", "visibility": "link"});
    assert_eq!(service.post("/api/chats/acme_corp", new).await.status, 201);
    let chat = "/api/chats/acme_corp/c1";
    for request in ["q1", "q2", "q3"] {
        ask(&service, chat, json!({"request_id": request, "prompt": "?"})).await;
    }
    // Whatever the name: the author is the caller.
    let mallory = client.with_token(token(&json!({"sub": "mallory", "role": "user"})));
    let given = answer(&mallory, chat, "q1", json!({"content": "x", "name": "alice"})).await;
    let given = given.body()["input_request"]["answer"].clone();
    assert_eq!((&given["name"], &given["author"]["user_id"]), (&json!("alice"), &json!("mallory")));
    let forged = json!({"content": "x", "author": {"user_id": "alice"}});
    let forged = answer(&mallory, chat, "q2", forged).await;
    assert_eq!(forged.body()["errors"][0]["pointer"], "/author/user_id", "{}", forged.text);
    // A service names the author.
    let stated = json!({"content": "x", "author": {"user_id": "alice", "display_name": "Alice"}});
    let stated = answer(&service, chat, "q2", stated).await.body();
    assert_eq!(stated["input_request"]["answer"]["author"]["display_name"], "Alice");
    let said = json!({"message": "x"});
    service.post("/chat/acme_corp/c1/alice/input", said.clone()).await;
    service.post("/chat/acme_corp/c1/alice/input", said).await;
    let messages = service.get(&format!("{chat}/messages?after=1")).await.body();
    for message in messages["data"].as_array().unwrap() {
        assert_eq!(message["author"]["user_id"], "alice", "{message}");
    }
}

#[tokio::test]
async fn a_wait_ends_with_the_token() {
    let client = client(AuthConfig { leeway_sec: 0, ..hs256() });
    let service = client.with_token(token(&json!({"role": "service"})));
    let new = json!({"chat_id": "c1", "workflow_name": "w"});
    assert_eq!(service.post("/api/chats/acme_corp", new).await.status, 201);
    ask(&service, "/api/chats/acme_corp/c1", json!({"request_id": "q1", "prompt": "?"})).await;
    let short = client.with_token(token(&json!({"role": "service", "exp": seconds(2)})));
    let waited = short.get("/api/chats/acme_corp/c1/input-requests/q1?wait=60s").await;
    assert_eq!(waited.problem(), (401, "unauthenticated".to_owned()));
}

#[tokio::test]
async fn a_wait_ends_when_its_app_is_disabled_even_in_a_busy_chat() {
    let store = Arc::new(MemoryStore::default());
    let limits = LimitsConfig { recheck_ms: 200, ..LimitsConfig::default() };
    let config = Config { limits, ..Config::default() };
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config);
    let chat = client.create_chat("c1").await;
    ask(&client, &chat, json!({"request_id": "q1", "prompt": "?"})).await;
    assert_eq!(client.put("/api/apps/acme_corp", json!({})).await.status, 200);
    let scope = Scope::service(AppId::parse("acme_corp").unwrap());
    let chat_id = ChatId::parse("c1").unwrap();
    let asking = async {
        loop {
            let question = Question::of("?");
            let new = NewInputRequest { request_id: None, question, expires_in_sec: None };
            let asked = store.request_input(&scope, &chat_id, new).await.unwrap();
            let id = asked.request.request_id;
            store.cancel_input_request(&scope, &chat_id, &id, None).await.unwrap();
            sleep(Duration::from_millis(20)).await;
        }
    };
    let url = format!("{chat}/input-requests/q1?wait=60s");
    let waiting = async {
        let disabling = async {
            sleep(Duration::from_millis(50)).await;
            client.poke("/api/apps/acme_corp/disable").await
        };
        let (waited, disabled) = tokio::join!(client.get(&url), disabling);
        assert_eq!(disabled.status, 200);
        waited
    };
    let waited = tokio::select! {
        () = asking => unreachable!("it goes on"),
        waited = timeout(Duration::from_secs(20), waiting) => waited.expect("it ends"),
    };
    assert_eq!(waited.problem(), (403, "app-disabled".to_owned()));
}

#[tokio::test]
async fn an_inbox_lists_the_pending_questions_of_all_chats() {
    let client = Client::open();
    for chat_id in ["c1", "c2", "c3"] {
        let chat = client.create_chat(chat_id).await;
        let question = json!({"prompt": "Why?", "request_id": "q 1"});
        client.post(&format!("{chat}/input-requests"), question).await;
        tokio::time::sleep(std::time::Duration::from_millis(2)).await;
    }
    let answer = json!({"content": "so"});
    client.post("/api/chats/acme_corp/c2/input-requests/q%201/answer", answer).await;
    for (order, expected) in [("newest", ["c3", "c1"]), ("oldest", ["c1", "c3"])] {
        let path = format!("/api/input-requests/acme_corp?limit=1&order={order}");
        let first = client.get(&path).await.body();
        let cursor = first["next_cursor"].as_str().unwrap();
        let second = client.get(&format!("{path}&cursor={cursor}")).await.body();
        let chats = [&first, &second].map(|page| page["data"][0]["chat_id"].clone());
        assert_eq!(chats, expected);
        assert_eq!(first["data"][0]["state"], "pending");
    }
    let refused = client.get("/api/input-requests/acme_corp?order=random").await;
    assert_eq!((refused.status, refused.culprit().as_str()), (422, "order"));
}
