//! The audit log: every operation that manages or administers leaves an entry, and so does every read by support.

use std::collections::BTreeSet;
use std::sync::Arc;

use axum::body::Body;
use axum::http::Method;
use futures::stream::BoxStream;
use persistence::memory::{Faults, MemoryStore};
use persistence::metrics::Call;
use persistence::{AuditFilter, AuditLog as _, StoreError};
use records::{ActorRole, AuditAction, AuditEntry, ChatId, Message};
use serde_json::{Value, json};
use service::{AppSettings, AppsConfig, Config, ServerConfig};

use crate::harness::{Client, memory};
use crate::rights::{Operation, call, chat_of_alice, operations};
use crate::serve::start_with;
use crate::socket::Socket;
use crate::tokens::{hs256, token};

fn config() -> Config {
    let settings = AppSettings { support_access: true, ..AppSettings::default() };
    let apps = AppsConfig { settings, ..AppsConfig::default() };
    Config { auth: hs256(), apps, ..Config::default() }
}

async fn entries(store: &MemoryStore) -> Vec<AuditEntry> {
    store.list_audit_entries(&AuditFilter::default(), 1_000, None).await.unwrap().entries
}

/// A service with a chat of alice.
struct Playground {
    store: Arc<MemoryStore>,
    client: Client,
}

impl Playground {
    async fn new() -> Self {
        let store = memory();
        let client = Client::over(Arc::<MemoryStore>::clone(&store), config());
        let this = Self { store, client };
        let service = this.role("orchestrator", "service");
        chat_of_alice(&service, &this.client.with_token(token(&json!({}))), "private").await;
        this
    }

    fn role(&self, user: &str, role: &str) -> Client {
        self.client.with_token(token(&json!({"sub": user, "role": role})))
    }

    /// Makes a call, and returns its status and the entries that it left.
    async fn audited(
        &self,
        caller: &Client,
        operation: &Operation,
        user: &str,
    ) -> (u16, Vec<AuditEntry>) {
        let before = entries(&self.store).await;
        let answer = call(caller, operation, user, "c1").await;
        let after = entries(&self.store).await;
        (answer.status, after.into_iter().filter(|entry| !before.contains(entry)).collect())
    }
}

/// Brings the app into a state in which the operation changes something.
async fn prepare(playground: &Playground, operation: &str) {
    let operator = playground.role("olga", "operator");
    let before: &[&str] = match operation {
        "get_app" | "disable_app" | "update_app" => &["register"],
        "enable_app" => &["register", "disable"],
        "lift_revocation" => &["revoke"],
        "lift_hold" => &["hold"],
        _ => &[],
    };
    let alice = playground.client.with_token(token(&json!({"sub": "alice"})));
    match operation {
        "activate_chat" => drop(alice.poke("/api/chats/acme_corp/c1/archive").await),
        "undelete_chat" => drop(alice.delete("/api/chats/acme_corp/c1").await),
        _ => {}
    }
    for step in before {
        let answer = match *step {
            "register" => operator.put("/api/apps/acme_corp", json!({})).await,
            "hold" => {
                let held = json!({"reason": "dispute"});
                operator.put("/api/apps/acme_corp/holds/c1", held).await
            }
            "revoke" => operator.put("/api/apps/acme_corp/revocations/bob", json!({})).await,
            step => operator.poke(&format!("/api/apps/acme_corp/{step}")).await,
        };
        assert_eq!(answer.status, 200, "{}", answer.text);
    }
}

#[tokio::test]
async fn who_revokes_a_lease_leaves_one_entry() {
    let lease = "/api/chats/acme_corp/c1/lease";
    for (user, role, expected) in [
        ("alice", "", ActorRole::User),
        ("sue", "support", ActorRole::Support),
        ("x", "service", ActorRole::Service),
    ] {
        let playground = Playground::new().await;
        let service = playground.role("orchestrator", "service");
        let held = service.post(lease, json!({"owner": "worker"})).await.body();
        let path = format!("{lease}?acquired_at={}", held["acquired_at"].as_str().unwrap());
        let before = entries(&playground.store).await;
        for _ in 0..2 {
            assert_eq!(playground.role(user, role).delete(&path).await.status, 204);
        }
        let after = entries(&playground.store).await;
        let new: Vec<_> = after.iter().filter(|entry| !before.contains(entry)).collect();
        let [entry] = new.as_slice() else { panic!("{role} left {new:?}") };
        assert_eq!((entry.action, entry.role), (AuditAction::RevokeLease, expected));
    }
}

#[tokio::test]
async fn every_operation_that_manages_or_administers_leaves_one_entry() {
    let described = operations(&Client::over(memory(), config())).await;
    let mut found = Vec::new();
    for operation in &described {
        let callers: &[(&str, &str, &str)] = match operation.needed.as_deref() {
            // The lease is named by a time that is not known before; it has a test of its own.
            Some("manage") if operation.id == "revoke_lease" => continue,
            Some("manage") => {
                &[("alice", "", "User"), ("sue", "support", "Support"), ("x", "service", "Service")]
            }
            // A pseudonym is not known before; a test of its own reads the entry.
            Some("administer") if operation.id == "get_erasure" => continue,
            Some("administer") => &[("olga", "operator", "Operator")],
            _ => continue,
        };
        // Bob is a member already.
        let subject = if operation.id == "put_member" { "eve" } else { "bob" };
        for (user, role, name) in callers {
            let playground = Playground::new().await;
            prepare(&playground, &operation.id).await;
            let caller = playground.role(user, role);
            let (status, entries) = playground.audited(&caller, operation, subject).await;
            assert!(status < 300, "{}: {status}", operation.id);
            let [entry] = entries.as_slice() else {
                panic!("{} as {name} left {entries:?}", operation.id);
            };
            assert_eq!(entry.action.as_str(), operation.id);
            assert_eq!(format!("{:?}", entry.role), *name, "{}", operation.id);
            assert_eq!(entry.actor.is_some(), *role != "service", "{}", operation.id);
            let is_of_chat = operation.path.contains("{chat_id}");
            assert_eq!(entry.chat_id.is_some(), is_of_chat, "{}", operation.id);
            assert_eq!(entry.app_id.is_some(), operation.path.contains("{app_id}"));
        }
        found.push(operation.id.as_str());
    }
    assert!(found.len() >= 10, "{found:?}");
}

#[tokio::test]
async fn every_request_of_support_to_chats_assistants_and_documents_leaves_an_entry() {
    let described = operations(&Client::over(memory(), config())).await;
    let mut checked = 0;
    for operation in &described {
        let is_of_assistants = operation.path.starts_with("/api/assistant");
        let is_of_documents = operation.path.starts_with("/api/document");
        let is_of_chats = operation.path.contains("chat")
            || operation.id == "submit_user_input"
            || is_of_assistants
            || is_of_documents;
        let is_said = operation.needed.as_deref() == Some("say");
        if !is_of_chats || !is_said && operation.needed.as_deref() != Some("read") {
            continue;
        }
        let playground = Playground::new().await;
        let support = playground.role("sue", "support");
        let (status, entries) = playground.audited(&support, operation, "sue").await;
        let id = &operation.id;
        let action = match id.as_str() {
            "list_chats" => AuditAction::ListChats,
            _ if is_of_assistants => AuditAction::ReadAssistants,
            _ if is_of_documents => AuditAction::ReadDocuments,
            _ if is_said => AuditAction::SayInChat,
            _ => AuditAction::ReadChat,
        };
        assert!(entries.iter().any(|entry| entry.action == action), "{id}: {status} {entries:?}");
        // Other callers leave no entry with it.
        let playground = Playground::new().await;
        for (user, role) in [("x", "service"), ("alice", "")] {
            let caller = playground.role(user, role);
            let (_, entries) = playground.audited(&caller, operation, user).await;
            assert_eq!(entries, [], "{id}");
        }
        checked += 1;
    }
    assert!(checked > 25, "{checked}");
}

#[tokio::test]
async fn a_read_by_support_without_an_entry_is_refused() {
    #[derive(Debug)]
    struct NoLog;
    #[async_trait::async_trait]
    impl Faults for NoLog {
        async fn before(&self, call: Call) -> Result<(), StoreError> {
            if call == Call::RecordChatRead {
                let retry_after = std::time::Duration::from_secs(1);
                return Err(StoreError::Unavailable { retry_after, source: "no log".into() });
            }
            Ok(())
        }

        fn history<'a>(
            &'a self,
            stored: BoxStream<'a, Result<Message, StoreError>>,
        ) -> BoxStream<'a, Result<Message, StoreError>> {
            stored
        }
    }
    let store = Arc::new(MemoryStore::default().with_faults(Arc::new(NoLog)));
    let client = Client::over(store, config());
    let service = client.with_token(token(&json!({"role": "service"})));
    let chat = service.create_chat("c1").await;
    let support = client.with_token(token(&json!({"sub": "sue", "role": "support"})));
    for path in [chat.clone(), format!("{chat}/messages"), format!("{chat}/history")] {
        assert_eq!(service.get(&path).await.status, 200, "{path}");
        let refused = support.get(&path).await;
        assert_eq!(refused.problem(), (503, "store-unavailable".to_owned()), "{path}");
    }
}

/// A search and the inbox show texts of chats. The list of chats does not.
#[tokio::test]
async fn support_that_reads_texts_in_a_list_leaves_an_entry_for_each_of_their_chats() {
    let playground = Playground::new().await;
    let service = playground.role("orchestrator", "service");
    for chat in ["c2", "c3"] {
        let path = service.create_chat(chat).await;
        for _ in 0..2 {
            let said = json!({"role": "user", "content": "a lost invoice"});
            assert_eq!(service.post(&format!("{path}/messages"), said).await.status, 201);
            let question = json!({"prompt": "Why?"});
            let asked = service.post(&format!("{path}/input-requests"), question).await;
            assert_eq!(asked.status, 201);
        }
    }
    for (user, list) in [
        ("sue", "/api/input-requests/acme_corp"),
        ("sam", "/api/search/acme_corp?q=invoice"),
        ("eve", "/api/chats/acme_corp"),
    ] {
        let before = entries(&playground.store).await;
        let page = playground.role(user, "support").get(list).await.body();
        let shown = page["data"].as_array().unwrap();
        let chats: BTreeSet<_> = shown.iter().map(|shown| shown["chat_id"].as_str()).collect();
        let after = entries(&playground.store).await;
        let new = after.iter().filter(|entry| !before.contains(entry));
        let mut new: Vec<_> = new
            .map(|entry| (entry.action.as_str(), entry.chat_id.as_ref().map(ChatId::as_str)))
            .collect();
        new.sort_unstable();
        let mut expected = vec![("list_chats", None)];
        if user != "eve" {
            assert!(chats.len() >= 2 && chats.len() < shown.len(), "{page}");
            expected.extend(chats.into_iter().map(|chat_id| ("read_chat", chat_id)));
        }
        assert_eq!(new, expected, "{list}");
    }
}

/// Support finds deleted chats in the list and restores them, so it reads them, too.
#[tokio::test]
async fn support_reads_a_deleted_chat() {
    let playground = Playground::new().await;
    let (path, support) = ("/api/chats/acme_corp/c1", playground.role("sue", "support"));
    assert_eq!(support.delete(path).await.status, 204);
    let before = entries(&playground.store).await.len();
    assert_eq!(support.get(path).await.problem(), (404, "chat-not-found".to_owned()));
    let deleted = support.get(&format!("{path}?deleted=true")).await;
    assert_eq!((deleted.status, &deleted.body()["lifecycle"]), (200, &json!("deleted")));
    assert!(entries(&playground.store).await.len() > before);
}

#[tokio::test]
async fn a_read_of_a_chat_that_does_not_exist_leaves_no_entry() {
    let playground = Playground::new().await;
    let before = entries(&playground.store).await;
    let answer = playground.role("sue", "support").get("/api/chats/acme_corp/c9/messages").await;
    assert_eq!(answer.problem(), (404, "chat-not-found".to_owned()));
    assert_eq!(entries(&playground.store).await, before);
}

#[tokio::test]
async fn an_entry_holds_a_request_id_only_if_it_is_a_random_number() {
    for (given, kept) in [
        (None, true),
        (Some("0198d4b2-c0de-7000-8000-00000000abcd"), true),
        (Some("alice-smith"), false),
    ] {
        let playground = Playground::new().await;
        let alice = playground.client.with_token(token(&json!({})));
        let request = alice.request("DELETE", "/api/chats/acme_corp/c1/members/bob");
        let mut request = request.body(Body::empty()).unwrap();
        request.headers_mut().remove("x-request-id");
        if let Some(id) = given {
            request.headers_mut().insert("x-request-id", id.parse().unwrap());
        }
        let answer = alice.send(request).await;
        assert_eq!(answer.status, 204, "{}", answer.text);
        let all = entries(&playground.store).await;
        let removed = all.iter().find(|it| it.action == AuditAction::RemoveMember).unwrap();
        let id = removed.request_id.as_ref().map(|id| id.as_str().to_owned());
        assert_eq!(id.as_deref(), kept.then(|| answer.header("x-request-id")), "{given:?}");
    }
}

#[tokio::test]
async fn an_entry_holds_the_network_of_the_caller_behind_a_proxy() {
    let store = memory();
    let server =
        ServerConfig { trusted_proxies: vec!["127.0.0.0/8".to_owned()], ..ServerConfig::default() };
    let config = Config { server, ..config() };
    let client = Client::over(Arc::<MemoryStore>::clone(&store), config.clone());
    client.with_token(token(&json!({"role": "service"}))).create_chat("c1").await;
    let server = start_with(Arc::<MemoryStore>::clone(&store), config).await;
    let sue = token(&json!({"sub": "sue", "role": "support"}));
    let path = "/ws/Generator/acme_corp/c1/sue";
    for (address, network) in
        [("203.0.113.9", "203.0.113.0/24"), ("2001:db8:7:8::9", "2001:db8:7::/48")]
    {
        let headers = [("authorization", &*format!("Bearer {sue}")), ("x-forwarded-for", address)];
        Socket::try_open(&server, path, &headers).await.map(drop).unwrap();
        // The first frame may carry the token, too.
        let headers = [("x-forwarded-for", "198.51.100.9, 203.0.114.1")];
        let mut socket = Socket::try_open(&server, path, &headers).await.unwrap();
        socket.send(json!({"type": "authorize", "token": sue})).await;
        socket.next().await;
        let networks: Vec<_> =
            entries(&store).await.into_iter().map(|entry| entry.network).collect();
        for network in [network, "203.0.114.0/24"] {
            assert!(networks.contains(&network.parse().ok()), "{network}: {networks:?}");
        }
    }
}

#[tokio::test]
async fn a_manager_who_removes_a_participant_leaves_an_entry_and_who_leaves_does_not() {
    let playground = Playground::new().await;
    let operation = Operation {
        id: "leave_chat".to_owned(),
        method: Method::DELETE,
        path: "/api/chats/{app_id}/{chat_id}/participants/{user_id}".to_owned(),
        needed: Some("read".to_owned()),
        body: Value::Null,
    };
    let bob = playground.role("bob", "");
    assert_eq!(playground.audited(&bob, &operation, "bob").await, (204, vec![]));
    let playground = Playground::new().await;
    let alice = playground.role("alice", "");
    let (status, entries) = playground.audited(&alice, &operation, "bob").await;
    assert_eq!(status, 204);
    assert_eq!(entries[0].action, AuditAction::RemoveParticipant);
    assert!(entries[0].subject.is_some() && entries[0].subject != entries[0].actor);
}
