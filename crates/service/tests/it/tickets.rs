//! Tickets, for clients that cannot send a token.

use std::sync::Arc;

use insta::assert_json_snapshot;
use persistence::memory::MemoryStore;
use serde_json::{Value, json};
use service::{AuthConfig, Config};

use crate::events::Reader;
use crate::harness::{Client, SetClock, memory, memory_with};
use crate::serve::{Server, start_with};
use crate::socket::{JOIN, Socket};
use crate::tokens::{hs256, seconds, token};

const CHAT: &str = "/api/chats/acme_corp/c1";

fn config() -> Config {
    Config { auth: AuthConfig { leeway_sec: 0, ..hs256() }, ..Config::default() }
}

/// A service with authentication, Alice's private chats, and another service on the same store.
async fn house(store: Arc<MemoryStore>) -> (Client, Server) {
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config());
    let alice = client.with_token(token(&json!({})));
    for chat_id in ["c1", "c2"] {
        let new =
            json!({"chat_id": chat_id, "workflow_name": "Generator", "visibility": "private"});
        assert_eq!(alice.post("/api/chats/acme_corp", new).await.status, 201);
    }
    (client, start_with(store, config()).await)
}

async fn ticket(client: &Client, claims: &Value, chat: &str) -> String {
    let answer = client.with_token(token(claims)).poke(&format!("{chat}/tickets")).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer.text_of("ticket")
}

/// Tries to open a socket with a ticket.
async fn knock(server: &Server, ticket: &str) -> u16 {
    let opened = Socket::try_open(server, &format!("{JOIN}?ticket={ticket}"), &[]).await;
    opened.err().unwrap_or(101)
}

#[tokio::test]
async fn a_ticket_opens_a_stream_or_a_socket_of_any_service_once() {
    let (client, server) = house(memory()).await;
    let alice = client.with_token(token(&json!({})));
    let answer = alice.poke(&format!("{CHAT}/tickets")).await;
    assert_json_snapshot!("ticket", answer.snapshot(), { ".body.ticket" => "[ticket]" });
    assert_eq!(answer.header("cache-control"), "no-store");

    let first = answer.text_of("ticket");
    let url = format!("{CHAT}/events?after=-1&ticket={first}");
    Reader::open(&client, &url, None).await.until("caught-up").await;
    assert_eq!(client.get(&url).await.problem(), (401, "unauthenticated".to_owned()));

    let second = ticket(&client, &json!({}), CHAT).await;
    assert_ne!(first, second);
    let url = format!("{JOIN}?ticket={second}&after=-1");
    let mut socket = Socket::open(&server, &url).await;
    assert_eq!(socket.next().await["type"], "chat_meta");
    assert_eq!(Socket::try_open(&server, &url, &[]).await.err(), Some(401));
    // A ticket is not valid for any other route.
    assert_eq!(client.get(&format!("{CHAT}/meta?ticket={second}")).await.status, 401);
}

#[tokio::test]
async fn a_ticket_is_for_one_chat_and_one_user() {
    let (client, server) = house(memory()).await;
    let other = ticket(&client, &json!({}), "/api/chats/acme_corp/c2").await;
    assert_eq!(knock(&server, &other).await, 401);
    for forged in ["", "x", "%00", &"x".repeat(43), &other.to_uppercase()] {
        assert_eq!(knock(&server, forged).await, 401, "{forged}");
    }
    // A refused ticket is not redeemed.
    let url = format!("/api/chats/acme_corp/c2/events?ticket={other}");
    Reader::open(&client, &url, None).await.until("caught-up").await;

    // A program's ticket is for the user that it names, and for no other.
    let service = client.with_token(token(&json!({"role": "service"})));
    let tickets = format!("{CHAT}/tickets");
    assert_eq!(service.poke(&tickets).await.culprit(), "/user_id");
    for (user, status) in [("alice", 101), ("bob", 403)] {
        let answer = service.post(&tickets, json!({"user_id": "alice"})).await;
        assert_eq!(answer.status, 201, "{}", answer.text);
        let path = format!("/ws/Generator/acme_corp/c1/{user}?ticket={}", answer.text_of("ticket"));
        let opened = Socket::try_open(&server, &path, &[]).await;
        assert_eq!(opened.err().unwrap_or(101), status, "{user}");
    }
    let stranger = service.post(&tickets, json!({"user_id": "mallory"})).await;
    assert_eq!(stranger.problem(), (404, "chat-not-found".to_owned()));
    let forged =
        client.with_token(token(&json!({}))).post(&tickets, json!({"user_id": "bob"})).await;
    assert_eq!(forged.problem(), (403, "forbidden-owner".to_owned()));
    let alices = ticket(&client, &json!({}), CHAT).await;
    let path = format!("/ws/Generator/acme_corp/c1/bob?ticket={alices}");
    assert_eq!(Socket::try_open(&server, &path, &[]).await.err(), Some(403));

    for claims in [json!({"sub": "bob"}), json!({"apps": ["globex"]})] {
        let answer = client.with_token(token(&claims)).poke(&format!("{CHAT}/tickets")).await;
        assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
    }
    assert_eq!(client.poke(&format!("{CHAT}/tickets")).await.status, 401);
}

#[tokio::test]
async fn a_ticket_beside_a_token_is_refused() {
    let (client, server) = house(memory()).await;
    let good = token(&json!({}));
    let bearer = format!("Bearer {good}");
    let offered = format!("reprise.v1, bearer.{good}");
    for header in [("authorization", &*bearer), ("sec-websocket-protocol", &*offered)] {
        let ticket = ticket(&client, &json!({}), CHAT).await;
        let path = format!("{JOIN}?ticket={ticket}");
        assert_eq!(Socket::try_open(&server, &path, &[header]).await.err(), Some(401));
        // A refused request does not use the ticket up.
        assert_eq!(knock(&server, &ticket).await, 101);
    }
    let ticket = ticket(&client, &json!({}), CHAT).await;
    let url = format!("{CHAT}/events?ticket={ticket}");
    assert_eq!(client.with_token(good).get(&url).await.status, 401);
    let head = client.request("HEAD", &url).body(axum::body::Body::empty()).unwrap();
    assert_eq!(client.send(head).await.status, 401);
    assert_eq!(client.get(&format!("{url}&after=x")).await.status, 422);
    Reader::open(&client, &url, None).await.until("caught-up").await;
}

#[tokio::test]
async fn a_ticket_expires_after_30_seconds() {
    let clock = Arc::<SetClock>::default();
    let (client, server) = house(memory_with(&clock)).await;
    for (seconds, status) in [(29, 101), (30, 401)] {
        clock.set(0);
        let ticket = ticket(&client, &json!({}), CHAT).await;
        clock.set(seconds);
        assert_eq!(knock(&server, &ticket).await, status, "{seconds}");
    }
}

#[tokio::test]
async fn a_stream_opened_with_a_ticket_ends_with_the_token() {
    let (client, server) = house(memory()).await;
    let short = json!({"exp": seconds(3)});
    let streamed = ticket(&client, &short, CHAT).await;
    let joined = ticket(&client, &short, CHAT).await;
    let unused = ticket(&client, &short, CHAT).await;
    let url = format!("{CHAT}/events?ticket={streamed}");
    let mut reader = Reader::open(&client, &url, None).await;
    let mut socket = Socket::open(&server, &format!("{JOIN}?ticket={joined}")).await;
    reader.until("caught-up").await;
    assert_eq!(reader.next().await, None);
    assert_eq!(socket.closed().await, 1008);
    assert_eq!(knock(&server, &unused).await, 401);
}

/// Sends what a user says, and returns the reply.
async fn say(socket: &mut Socket) -> Value {
    socket.send(json!({"type": "user.input.submit", "text": "hello", "event_id": "evt_1"})).await;
    loop {
        let frame = socket.next().await;
        if frame["type"] == "chat.input_ack" || frame["type"] == "chat.error" {
            return frame;
        }
    }
}

#[tokio::test]
async fn a_ticket_may_be_narrowed_to_reading() {
    let (client, server) = house(memory()).await;
    let alice = client.with_token(token(&json!({})));
    let service = client.with_token(token(&json!({"role": "service"})));
    let new = json!({"chat_id": "open", "workflow_name": "Generator", "visibility": "link"});
    assert_eq!(service.post("/api/chats/acme_corp", new).await.status, 201);
    for (chat, asker) in [("c1", &alice), ("open", &service)] {
        let chat_path = format!("/api/chats/acme_corp/{chat}");
        let narrowed = async |permissions: Value| {
            let body = json!({"user_id": "alice", "permissions": permissions});
            let answer = asker.post(&format!("{chat_path}/tickets"), body).await;
            assert_eq!(answer.status, 201, "{}", answer.text);
            let ticket = answer.text_of("ticket");
            let path = format!("/ws/Generator/acme_corp/{chat}/alice?ticket={ticket}");
            let mut socket = Socket::open(&server, &path).await;
            socket.until("chat.resume_boundary").await;
            socket
        };
        let mut reading = narrowed(json!(["read"])).await;
        let refused = say(&mut reading).await;
        assert_json_snapshot!(format!("refused_by_a_ticket_{chat}"), refused);
        // Nothing was stored, and a person who only reads is neither a member nor present.
        let messages = service.get(&format!("{chat_path}/messages")).await.body();
        assert_eq!(messages["last_sequence"], 0);
        let members = service.get(&format!("{chat_path}/members")).await.body();
        assert_eq!(members["data"], json!([]), "{chat}");
        let presence = service.get(&format!("{chat_path}/presence")).await.body();
        assert_eq!(presence["count"], 0, "{chat}");
        // A question is not answered either.
        let question = json!({"kind": "text", "prompt": "Why?"});
        let asked = service.post(&format!("{chat_path}/input-requests"), question).await;
        assert_eq!(asked.status, 201, "{}", asked.text);
        assert_eq!(say(&mut reading).await["type"], "chat.error");
        for permissions in [json!(["read", "say"]), Value::Null] {
            let mut saying = narrowed(permissions).await;
            assert_eq!(say(&mut saying).await["type"], "chat.input_ack");
        }
        // The reader received what was said.
        reading.until("chat.text").await;
    }
}

#[tokio::test]
async fn a_ticket_can_be_narrowed_only_to_read_and_say() {
    let (client, _server) = house(memory()).await;
    let alice = client.with_token(token(&json!({})));
    let tickets = format!("{CHAT}/tickets");
    for permissions in [json!(["say"]), json!([])] {
        let answer = alice.post(&tickets, json!({"permissions": permissions})).await;
        assert_eq!((answer.status, answer.culprit()), (422, "/permissions".to_owned()));
    }
    for permissions in [json!(["run"]), json!("read"), json!([1])] {
        let answer = alice.post(&tickets, json!({"permissions": permissions})).await;
        assert_eq!(answer.status, 422, "{permissions}");
    }
    let answer = alice.post(&tickets, json!({"permissions": ["read"]})).await;
    let url = format!("{CHAT}/events?ticket={}", answer.text_of("ticket"));
    Reader::open(&client, &url, None).await.until("caught-up").await;
}

/// A client need not know whether a service requires tokens.
#[tokio::test]
async fn tickets_work_in_open_mode() {
    let client = Client::open();
    let path = client.create_chat("c1").await;
    let ticket = client.poke(&format!("{path}/tickets")).await.text_of("ticket");
    let url = format!("{path}/events?ticket={ticket}");
    Reader::open(&client, &url, None).await.until("caught-up").await;
    assert_eq!(client.get(&url).await.status, 401);
}
