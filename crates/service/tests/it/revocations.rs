//! Tokens that are refused although they are valid.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use axum::body::Body;
use chrono::{DateTime, Utc};
use futures::stream::{BoxStream, StreamExt as _};
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use persistence::{BoxError, Revocations as _, StoreError};
use records::{
    Actor, AppId, Message, NewRevocation, RevocationKey, RevocationTarget, TokenId, UserId,
};
use serde_json::{Value, json};
use service::{Config, LimitsConfig};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use tower::ServiceExt as _;

use crate::events::Reader;
use crate::harness::Client;
use crate::histories::{self, Meter};
use crate::serve::{Server, start_with};
use crate::socket::{Received, Socket};
use crate::tokens::{hs256, limits, seconds, token};

const CHATS: &str = "/api/chats/acme_corp";
const RECHECK: Duration = Duration::from_millis(300);

fn config() -> Config {
    let limits = LimitsConfig {
        recheck_ms: RECHECK.as_millis().try_into().unwrap(),
        failed_attempts_per_min_per_address: 0,
        ..limits()
    };
    Config { auth: hs256(), limits, ..Config::default() }
}

/// A service, and a chat of each of two users in it.
async fn house(store: &Arc<MemoryStore>) -> Client {
    let client = Client::over(Arc::<MemoryStore>::clone(store), config());
    for (user, chat_id) in [("alice", "c1"), ("bob", "c2")] {
        let new =
            json!({"chat_id": chat_id, "workflow_name": "Generator", "visibility": "private"});
        let owner = client.with_token(token(&json!({"sub": user})));
        assert_eq!(owner.post(CHATS, new).await.status, 201);
    }
    client
}

fn user(id: &str) -> RevocationTarget {
    RevocationTarget::User(UserId::parse(id).unwrap())
}

fn token_id(id: &str) -> RevocationTarget {
    RevocationTarget::Token(TokenId::parse(id).unwrap())
}

async fn revoke(store: &MemoryStore, target: RevocationTarget) {
    revoke_until(store, target, None).await;
}

async fn revoke_until(
    store: &MemoryStore,
    target: RevocationTarget,
    issued_until: Option<DateTime<Utc>>,
) {
    let key = RevocationKey { target, app_id: None };
    store
        .revoke(&Actor::command_line(), NewRevocation { key, issued_until, expires_at: None })
        .await
        .unwrap();
}

async fn status(client: &Client, claims: &Value) -> u16 {
    client.with_token(token(claims)).get(CHATS).await.status
}

/// Waits until a token gets a status, for at most ten seconds.
async fn until_status(client: &Client, claims: &Value, expected: u16) {
    let begun = Instant::now();
    while status(client, claims).await != expected {
        assert!(begun.elapsed() < Duration::from_secs(10), "still not {expected}");
        sleep(Duration::from_millis(10)).await;
    }
}

fn join(user: &str, chat_id: &str) -> String {
    format!("/ws/Generator/acme_corp/{chat_id}/{user}")
}

async fn joined(server: &Server, user: &str, chat_id: &str) -> Socket {
    let bearer = format!("Bearer {}", token(&json!({"sub": user})));
    let path = join(user, chat_id);
    let mut socket = Socket::try_open(server, &path, &[("authorization", &bearer)]).await.unwrap();
    socket.until("chat.resume_boundary").await;
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn a_user_is_revoked_under_load_and_no_request_is_answered_wrongly() {
    let store = Arc::new(MemoryStore::default());
    // Two processes on one store: one for requests and event streams, one for sockets.
    let client = house(&store).await;
    let server = start_with(Arc::<MemoryStore>::clone(&store), config()).await;
    let (alice, bob) = (json!({"sub": "alice"}), json!({"sub": "bob"}));
    let events = |claims: &Value, chat_id: &str| {
        let client = client.with_token(token(claims));
        let path = format!("{CHATS}/{chat_id}/events");
        async move {
            let mut reader = Reader::open(&client, &path, None).await;
            reader.until("caught-up").await;
            reader
        }
    };
    let (mut alices_events, mut bobs_events) =
        (events(&alice, "c1").await, events(&bob, "c2").await);
    let mut alices_socket = joined(&server, "alice", "c1").await;
    let mut bobs_socket = joined(&server, "bob", "c2").await;

    let stop = Arc::new(AtomicBool::new(false));
    let workers = (0..8).map(|index| {
        let claims = if index % 2 == 0 { &alice } else { &bob };
        let (client, stop) = (client.with_token(token(claims)), Arc::clone(&stop));
        tokio::spawn(async move {
            let mut answers = Vec::new();
            while !stop.load(Ordering::Relaxed) {
                let begun = Instant::now();
                let status = client.get(CHATS).await.status;
                answers.push((begun, Instant::now(), status));
                sleep(Duration::from_millis(1)).await;
            }
            answers
        })
    });
    let workers: Vec<_> = workers.collect();
    sleep(Duration::from_millis(300)).await;
    let revoking = Instant::now();
    revoke(&store, user("alice")).await;
    let revoked = Instant::now();
    alices_events.ended().await;
    assert_eq!(alices_socket.closed().await, 4401);
    sleep(RECHECK * 2).await;
    stop.store(true, Ordering::Relaxed);

    let (mut before, mut after, mut of_bob) = (0, 0, 0);
    for (index, worker) in workers.into_iter().enumerate() {
        let mut was_refused = false;
        for (begun, answered, status) in worker.await.unwrap() {
            if index % 2 == 1 {
                assert_eq!(status, 200, "another user");
                of_bob += 1;
                continue;
            }
            match status {
                200 => {
                    assert!(!was_refused, "accepted again");
                    assert!(begun < revoked + RECHECK, "{:?} after it", begun - revoked);
                    before += 1;
                }
                401 => {
                    assert!(answered > revoking, "refused before it was revoked");
                    was_refused = true;
                    after += 1;
                }
                other => panic!("{other}"),
            }
        }
        assert!(was_refused || index % 2 == 1);
    }
    let counts = (before, after, of_bob);
    assert!(before > 0 && after > 0 && of_bob > 0, "{counts:?}");

    let message = json!({"role": "user", "content": "I am still here"});
    let bob = client.with_token(token(&bob));
    let said = bob.post(&format!("{CHATS}/c2/messages"), message).await;
    assert_eq!(said.status, 201);
    bobs_events.until("message").await;
    bobs_socket.until("chat.text").await;
}

#[tokio::test]
async fn a_revoked_token_is_refused_wherever_it_is_sent() {
    let store = Arc::new(MemoryStore::default());
    let client = house(&store).await;
    let server = start_with(Arc::<MemoryStore>::clone(&store), config()).await;
    let (bad, good) = (json!({"jti": "bad"}), json!({"jti": "good"}));
    let ticket = async |claims: &Value| {
        let answer = client.with_token(token(claims)).poke(&format!("{CHATS}/c1/tickets")).await;
        answer.text_of("ticket")
    };
    let (of_bad, of_good) = (ticket(&bad).await, ticket(&good).await);
    revoke(&store, token_id("bad")).await;
    until_status(&client, &bad, 401).await;
    let refused = client.with_token(token(&bad)).get(CHATS).await;
    assert_eq!(refused.problem(), (401, "unauthenticated".to_owned()));
    assert_eq!(refused.text_of("detail"), "the token was revoked");
    assert_eq!(refused.header("www-authenticate"), "Bearer");
    sleep(RECHECK).await;

    let path = join("alice", "c1");
    for (claims, ticket, is_let_in) in [(&bad, of_bad, false), (&good, of_good, true)] {
        let (token, expected) = (token(claims), (!is_let_in).then_some(401));
        let header = format!("Bearer {token}");
        let offered = format!("reprise.v1, bearer.{token}");
        for header in [("authorization", &*header), ("sec-websocket-protocol", &*offered)] {
            let opened = Socket::try_open(&server, &path, &[header]).await;
            assert_eq!(opened.err(), expected, "{header:?}");
        }
        let opened = Socket::try_open(&server, &format!("{path}?ticket={ticket}"), &[]).await;
        assert_eq!(opened.err(), expected, "a ticket");
        let mut socket = Socket::open(&server, &path).await;
        socket.send(json!({"type": "authorize", "token": token})).await;
        match socket.receive().await {
            Received::Frame(frame) => assert!(is_let_in && frame["type"] == "chat_meta"),
            received => assert_eq!((received, is_let_in), (Received::Closed(4401), false)),
        }
    }
}

#[tokio::test]
async fn a_moment_revokes_older_tokens_and_those_without_a_time() {
    let store = Arc::new(MemoryStore::default());
    let client = house(&store).await;
    let moment = DateTime::from_timestamp_secs(seconds(-10)).unwrap();
    revoke_until(&store, user("alice"), Some(moment)).await;
    until_status(&client, &json!({"iat": seconds(-60)}), 401).await;
    for (claims, expected) in [
        (json!({"iat": seconds(-5)}), 200),
        (json!({}), 401),
        (json!({"iat": "yesterday"}), 401),
        (json!({"sub": "bob", "iat": seconds(-60)}), 200),
        // A program is named by its token, too.
        (json!({"role": "service", "iat": seconds(-60)}), 401),
        (json!({"jti": 7, "iat": seconds(-5)}), 200),
    ] {
        assert_eq!(status(&client, &claims).await, expected, "{claims}");
    }
}

#[tokio::test]
async fn a_ticket_of_a_program_is_refused_if_its_user_is_revoked() {
    let store = Arc::new(MemoryStore::default());
    let client = house(&store).await;
    let program = json!({"sub": "orchestrator", "role": "service"});
    let ticket = async |user: &str, chat_id: &str| {
        let path = format!("{CHATS}/{chat_id}/tickets");
        let program = client.with_token(token(&program));
        program.post(&path, json!({"user_id": user})).await.text_of("ticket")
    };
    let (of_alice, of_bob) = (ticket("alice", "c1").await, ticket("bob", "c2").await);
    revoke(&store, user("alice")).await;
    until_status(&client, &json!({}), 401).await;
    let url = format!("{CHATS}/c1/events?ticket={of_alice}");
    let request = client.request("GET", &url).body(Body::empty()).unwrap();
    let refused = client.send_without_stream(request).await;
    assert_eq!(refused.problem(), (401, "unauthenticated".to_owned()));
    let url = format!("{CHATS}/c2/events?ticket={of_bob}");
    let mut bobs_events = Reader::open(&client, &url, None).await;
    bobs_events.until("caught-up").await;
    // The stream ends with the token of the program that requested the ticket.
    revoke(&store, user("orchestrator")).await;
    bobs_events.ended().await;
}

#[tokio::test]
async fn a_revocation_in_one_app_leaves_the_others() {
    let store = Arc::new(MemoryStore::default());
    let client = house(&store).await;
    let app_id = Some(AppId::parse("acme_corp").unwrap());
    let key = RevocationKey { target: user("alice"), app_id };
    let new = NewRevocation { key: key.clone(), issued_until: None, expires_at: None };
    store.revoke(&Actor::command_line(), new).await.unwrap();
    let both = json!({"apps": ["acme_corp", "globex"]});
    until_status(&client, &both, 401).await;
    let alice = client.with_token(token(&both));
    for (path, expected) in [
        (CHATS, 401),
        ("/api/chats/acme_corp/c1", 401),
        ("/api/wallets/acme_corp/alice", 401),
        ("/api/chats/globex", 200),
    ] {
        assert_eq!(alice.get(path).await.status, expected, "{path}");
    }
    let refused = alice.get(CHATS).await;
    assert_eq!(refused.problem(), (401, "unauthenticated".to_owned()));
    // A token that names no other app is refused everywhere.
    assert_eq!(client.with_token(token(&json!({}))).get("/metrics").await.status, 401);
    assert_eq!(alice.get("/metrics").await.status, 403);
    assert_eq!(status(&client, &json!({"sub": "bob"})).await, 200);

    assert!(store.lift_revocation(&Actor::command_line(), &key).await.unwrap());
    until_status(&client, &both, 200).await;
}

#[tokio::test]
async fn an_operator_revokes_the_tokens_of_a_user_over_http() {
    let store = Arc::new(MemoryStore::default());
    let client = house(&store).await;
    let operator = json!({"sub": "olga", "role": "operator"});
    let operator = client.with_token(token(&operator));
    let path = "/api/apps/acme_corp/revocations/alice";
    let moment = DateTime::from_timestamp_secs(seconds(-10)).unwrap();
    let older = operator.put(path, json!({"issued_until": moment})).await;
    assert_eq!(older.status, 200, "{}", older.text);
    until_status(&client, &json!({"iat": seconds(-60)}), 401).await;
    assert_eq!(status(&client, &json!({"iat": seconds(-5)})).await, 200);
    // Both revocations are one, of every token.
    let every = operator.put(path, json!({})).await;
    assert_eq!(every.body()["issued_until"], Value::Null, "{}", every.text);
    until_status(&client, &json!({"iat": seconds(-5)}), 401).await;
    assert_eq!(status(&client, &json!({"sub": "bob"})).await, 200);

    for _ in 0..2 {
        assert_eq!(operator.delete(path).await.status, 204);
    }
    until_status(&client, &json!({"iat": seconds(-60)}), 200).await;

    let elsewhere = json!({"sub": "olga", "role": "operator", "apps": ["globex"]});
    let refused = client.with_token(token(&elsewhere)).put(path, json!({})).await;
    assert_eq!(refused.problem(), (403, "forbidden-app".to_owned()));
}

/// Makes the list of revocations unreadable, while everything else works.
#[derive(Debug, Default)]
struct Unreadable {
    is_away: AtomicBool,
    /// Whether every second read fails.
    is_flaky: AtomicBool,
    reads: AtomicUsize,
}

#[async_trait]
impl Faults for Unreadable {
    async fn before(&self, call: Call) -> Result<(), StoreError> {
        if call != Call::ListRevocations {
            return Ok(());
        }
        let is_second = self.reads.fetch_add(1, Ordering::Relaxed) % 2 == 1;
        let fails = self.is_flaky.load(Ordering::Relaxed) && is_second;
        if !fails && !self.is_away.load(Ordering::Relaxed) {
            return Ok(());
        }
        let source = BoxError::from("away");
        Err(StoreError::Unavailable { retry_after: Duration::from_secs(1), source })
    }

    fn history<'a>(
        &'a self,
        history: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        history
    }
}

#[tokio::test]
async fn while_the_list_is_unreadable_the_last_one_is_in_force() {
    let fault = Arc::new(Unreadable::default());
    let faults = Arc::<Unreadable>::clone(&fault);
    let store = Arc::new(MemoryStore::default().with_faults(faults));
    let client = house(&store).await;
    let (alice, bob) = (json!({"sub": "alice"}), json!({"sub": "bob"}));
    revoke(&store, user("alice")).await;
    until_status(&client, &alice, 401).await;
    fault.is_away.store(true, Ordering::Relaxed);
    sleep(RECHECK * 2).await;
    assert_eq!(status(&client, &alice).await, 401);
    assert_eq!(status(&client, &bob).await, 200);

    // A process that has started meanwhile admits no token.
    let restarted = Client::over(Arc::<MemoryStore>::clone(&store), config());
    for claims in [&alice, &bob] {
        let refused = restarted.with_token(token(claims)).get(CHATS).await;
        assert_eq!(refused.problem(), (503, "store-unavailable".to_owned()));
        assert_eq!(refused.header("retry-after"), "1");
    }
    assert_eq!(restarted.get(CHATS).await.status, 401, "without a token");
    assert_eq!(restarted.get("/api/health/live").await.status, 200);
    fault.is_away.store(false, Ordering::Relaxed);
    until_status(&restarted, &bob, 200).await;
    assert_eq!(status(&restarted, &alice).await, 401);
}

#[tokio::test]
async fn what_was_revoked_before_the_start_is_refused_from_the_first_request_on() {
    let store = Arc::new(MemoryStore::default());
    for index in 0..2_500 {
        revoke(&store, token_id(&format!("token_{index}"))).await;
    }
    revoke(&store, token_id("bad")).await;
    for _ in 0..20 {
        let client = Client::over(Arc::<MemoryStore>::clone(&store), config());
        assert_eq!(status(&client, &json!({"jti": "bad"})).await, 401);
        assert_eq!(status(&client, &json!({"jti": "token_1234"})).await, 401);
        assert_eq!(status(&client, &json!({"jti": "good"})).await, 200);
        let operator = client.with_token(token(&json!({"role": "operator"})));
        let metrics = operator.get("/metrics").await.text;
        assert!(metrics.contains("reprise_auth_revocations 2501\n"), "{metrics}");
    }
}

#[tokio::test]
async fn a_read_that_fails_half_way_ends_the_streams_that_it_has_found() {
    let fault = Arc::new(Unreadable::default());
    let faults = Arc::<Unreadable>::clone(&fault);
    let store = Arc::new(MemoryStore::default().with_faults(faults));
    let client = house(&store).await;
    let alice = client.with_token(token(&json!({})));
    let mut events = Reader::open(&alice, &format!("{CHATS}/c1/events"), None).await;
    events.until("caught-up").await;
    fault.is_flaky.store(true, Ordering::Relaxed);
    revoke(&store, user("alice")).await;
    // More than one page.
    for index in 0..1_100 {
        revoke(&store, token_id(&format!("token_{index}"))).await;
    }
    events.ended().await;
}

/// Has histories without an end; everything else works.
#[derive(Debug)]
struct Endless(&'static Meter);

#[async_trait]
impl Faults for Endless {
    async fn before(&self, _: Call) -> Result<(), StoreError> {
        Ok(())
    }

    fn history<'a>(
        &'a self,
        _: BoxStream<'a, Result<Message, StoreError>>,
    ) -> BoxStream<'a, Result<Message, StoreError>> {
        histories::endless(self.0).boxed()
    }
}

/// Begins a download, which never ends by itself. Returns whether it was aborted, and not ended, once it is over.
async fn downloading(client: &Client, chat_id: &str) -> JoinHandle<bool> {
    let path = format!("{CHATS}/{chat_id}/history");
    let request = client.request("GET", &path).body(Body::empty()).unwrap();
    let response = client.app().oneshot(request).await.unwrap();
    assert_eq!(response.status(), 200);
    let mut chunks = response.into_body().into_data_stream();
    tokio::spawn(async move {
        loop {
            match chunks.next().await {
                // A client that takes a little at a time.
                Some(Ok(_)) => sleep(Duration::from_millis(1)).await,
                Some(Err(_)) => return true,
                None => return false,
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_download_is_aborted_once_its_caller_may_no_longer_read_the_chat() {
    let meter: &Meter = Box::leak(Box::default());
    let store = Arc::new(MemoryStore::default().with_faults(Arc::new(Endless(meter))));
    let client = house(&store).await;
    let [alice, bob, carol] =
        ["alice", "bob", "carol"].map(|sub| client.with_token(token(&json!({"sub": sub}))));
    let member = format!("{CHATS}/c2/members/carol");
    assert_eq!(bob.put(&member, json!({"role": "reader"})).await.status, 201);
    let of_alice = downloading(&alice, "c1").await;
    let of_bob = downloading(&bob, "c2").await;
    let of_carol = downloading(&carol, "c2").await;
    sleep(RECHECK * 2).await;
    assert!(!of_alice.is_finished() && !of_bob.is_finished() && !of_carol.is_finished());

    let is_aborted = async |download: JoinHandle<bool>| {
        timeout(Duration::from_secs(10), download).await.expect("the download ends").unwrap()
    };
    revoke(&store, user("alice")).await;
    assert!(is_aborted(of_alice).await, "the token was revoked");
    assert!(!of_carol.is_finished());
    assert_eq!(bob.delete(&member).await.status, 204);
    assert!(is_aborted(of_carol).await, "the member was removed");
    sleep(RECHECK * 2).await;
    assert!(!of_bob.is_finished(), "the owner goes on");
    of_bob.abort();
}

/// A download that was admitted has an end, so it may outlive its token.
#[tokio::test]
async fn a_download_goes_on_when_its_token_expires() {
    let meter: &Meter = Box::leak(Box::default());
    let store = Arc::new(MemoryStore::default().with_faults(Arc::new(Endless(meter))));
    let client = house(&store).await;
    let expiring = client.with_token(token(&json!({"exp": seconds(1)})));
    let download = downloading(&expiring, "c1").await;
    until_status(&client, &json!({"exp": seconds(-10)}), 401).await;
    sleep(Duration::from_secs(1) + RECHECK * 2).await;
    assert!(!download.is_finished());
    download.abort();
}
