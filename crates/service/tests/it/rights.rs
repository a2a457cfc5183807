//! Who may do what: every operation of the API, as every kind of caller, in chats of every visibility.
//!
//! The operations come from the API's own description, with the permission that each needs and an example of its body.

use axum::http::Method;
use serde_json::{Value, json};
use service::{AppSettings, AppsConfig, Config};

use crate::harness::{Answer, Client, memory};
use crate::openapi::example_of_body;
use crate::tokens::{hs256, token};

/// An operation of the API.
#[derive(Debug)]
pub(crate) struct Operation {
    pub(crate) id: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The permission that it says it needs; `None` for operations that need no token.
    pub(crate) needed: Option<String>,
    pub(crate) body: Value,
}

pub(crate) async fn operations(client: &Client) -> Vec<Operation> {
    let document = client.get("/openapi.json").await.body();
    let mut operations = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let id = operation["operationId"].as_str().unwrap().to_owned();
            let security = operation.get("security").unwrap();
            let needed = operation["x-permission"].as_str().map(str::to_owned);
            assert_eq!(needed.is_some(), security[0].get("bearer_token").is_some(), "{id}");
            let has_body = operation.get("requestBody").is_some();
            let body = if has_body { body(&document, &id, operation) } else { Value::Null };
            let method = method.to_uppercase().parse().unwrap();
            operations.push(Operation { id, method, path: path.clone(), needed, body });
        }
    }
    operations
}

/// Returns a body that the operation accepts: the example of its description, except where that names other records
/// than those of these tests.
fn body(document: &Value, id: &str, operation: &Value) -> Value {
    match id {
        "create_chat" | "ensure_chat" => json!({"workflow_name": "Generator"}),
        "append_messages" => json!({"role": "user", "content": "x"}),
        "submit_user_input" => {
            json!({"app_id": "acme_corp", "input_request_id": "q1", "user_input": "so"})
        }
        "restore_context" => json!({"version": 1}),
        // With a snapshot it needs the permission to run, too.
        "complete_chat" | "create_ticket" | "join_chat" => json!({}),
        _ => example_of_body(document, operation).unwrap_or_else(|| panic!("{id} has no example")),
    }
}

/// The kinds of callers, with the claims of their tokens.
fn callers() -> Vec<(&'static str, Option<Value>)> {
    vec![
        ("nobody", None),
        ("wrong app", Some(json!({"sub": "alice", "apps": ["other_app"]}))),
        ("stranger", Some(json!({"sub": "mallory", "team": "red"}))),
        ("reader", Some(json!({"sub": "carol"}))),
        ("member", Some(json!({"sub": "bob"}))),
        ("teammate", Some(json!({"sub": "dave", "team": "blue"}))),
        ("owner", Some(json!({"sub": "alice"}))),
        ("support", Some(json!({"sub": "sue", "role": "support"}))),
        ("service", Some(json!({"sub": "orchestrator", "role": "service"}))),
        ("operator", Some(json!({"sub": "olga", "role": "operator"}))),
    ]
}

/// Returns what a caller is answered, as a status and a slug; `None` if the operation is permitted.
///
/// This is the model of rights, written out once more for the test.
fn refusal(caller: &str, visibility: &str, operation: &Operation) -> Option<(u16, &'static str)> {
    let Operation { id, path, needed, .. } = operation;
    let needed = needed.as_deref()?;
    // Operators put chats under hold without being admitted to them.
    let is_of_chat = path.contains("{chat_id}") && needed != "administer";
    let is_of_wallet = path.starts_with("/api/wallets") || path.starts_with("/api/tokens");
    let is_of_assistants = path.starts_with("/api/assistant");
    match (caller, needed) {
        ("nobody", _) => return Some((401, "unauthenticated")),
        ("wrong app", _) if is_of_chat => return Some((404, "chat-not-found")),
        // Operations about no app or all of them.
        ("open mode", _) | ("operator", "observe" | "administer") | ("service", "observe") => {
            return None;
        }
        ("wrong app", "observe" | "administer") if path.contains("{app_id}") => {
            let is_registry = needed == "administer";
            return Some((403, if is_registry { "forbidden-role" } else { "forbidden-app" }));
        }
        (_, "observe" | "administer") | ("operator", _) => return Some((403, "forbidden-role")),
        ("wrong app", _) if path.contains("{assistant_id}") => {
            return Some((404, "assistant-not-found"));
        }
        ("wrong app", _) if path.contains("{path}") => return Some((404, "document-not-found")),
        ("wrong app", _) => return Some((403, "forbidden-app")),
        ("service", _) => return None,
        _ if is_of_assistants => return assistant_refusal(caller, visibility, operation),
        _ if path.starts_with("/api/document") => {
            return document_refusal(caller, visibility, operation);
        }
        ("owner", "read") if is_of_wallet => return None,
        ("owner", "bill") if is_of_wallet => return Some((403, "forbidden-role")),
        _ if is_of_wallet => return Some((403, "forbidden-owner")),
        ("support", "create") => return Some((403, "forbidden-role")),
        ("support", _) if id == "fork_chat" => return Some((403, "forbidden-role")),
        (_, "create") => return None,
        _ if matches!(id.as_str(), "list_chats" | "list_pending_inputs" | "search_messages") => {
            return None;
        }
        _ => {}
    }
    let has = |permissions: &[&str]| permissions.contains(&needed);
    let is_open = ["link", "app"].contains(&visibility);
    let permitted = match caller {
        "owner" | "support" => has(&["read", "say", "manage"]),
        "member" => has(&["read", "say"]),
        "teammate" if visibility == "team" => has(&["read", "say"]),
        // Saying something joins a chat that is open by link.
        "stranger" | "teammate" if visibility == "link" && id != "cancel_stream" => {
            has(&["read", "say"])
        }
        "reader" => has(&["read"]),
        _ if is_open => has(&["read"]),
        _ if id == "submit_user_input" => return Some((404, "input-not-found")),
        _ => return Some((404, "chat-not-found")),
    };
    let edits = [
        "update_message",
        "update_message_by_id",
        "delete_message",
        "delete_message_by_id",
        "delete_messages",
    ];
    let is_edit = edits.contains(&id.as_str());
    if permitted && is_edit {
        // The message is the owner's.
        return (caller != "owner").then_some((403, "forbidden-permission"));
    }
    if id == "submit_user_input" {
        // A question whose chat is not named is looked for in the own chats only.
        let is_found = ["owner", "support"].contains(&caller);
        return (!is_found).then_some((404, "input-not-found"));
    }
    (!permitted).then_some((403, "forbidden-permission"))
}

/// Returns what a user is answered about an assistant of alice and team blue. Assistants have no members.
fn assistant_refusal(
    caller: &str,
    visibility: &str,
    operation: &Operation,
) -> Option<(u16, &'static str)> {
    let may_read =
        ["link", "app"].contains(&visibility) || caller == "teammate" && visibility == "team";
    match operation.id.as_str() {
        _ if ["owner", "support"].contains(&caller) => None,
        "list_assistants" | "list_assistant_tags" | "delete_assistants" => None,
        "get_assistant" if may_read => None,
        _ if may_read => Some((403, "forbidden-permission")),
        "put_assistant" => Some((409, "assistant-taken")),
        "delete_assistant" => None,
        _ => Some((404, "assistant-not-found")),
    }
}

/// Returns what a user is answered about a document of alice and team blue. None of them may run.
fn document_refusal(
    caller: &str,
    visibility: &str,
    operation: &Operation,
) -> Option<(u16, &'static str)> {
    let is_shared =
        ["link", "app"].contains(&visibility) || caller == "teammate" && visibility == "team";
    let may_read = is_shared || ["owner", "support"].contains(&caller);
    match operation.id.as_str() {
        "list_documents"
        | "list_document_namespaces"
        | "delete_documents"
        | "listen_to_documents" => None,
        "get_document" if may_read => None,
        _ if may_read => Some((403, "forbidden-permission")),
        // A caller who may create no document either does not learn that the path is taken.
        "put_document" | "append_document" => Some((403, "forbidden-permission")),
        "delete_document" => None,
        _ => Some((404, "document-not-found")),
    }
}

fn config(is_open: bool) -> Config {
    let settings = AppSettings { support_access: true, ..AppSettings::default() };
    let apps = AppsConfig { settings, ..AppsConfig::default() };
    let auth = if is_open { service::AuthConfig::default() } else { hs256() };
    Config { auth, apps, ..Config::default() }
}

/// Creates a chat of alice and team blue, with some of every record.
pub(crate) async fn chat_of_alice(service: &Client, alice: &Client, visibility: &str) {
    let chat = json!({
        "chat_id": "c1", "workflow_name": "Generator", "user_id": "alice", "team_id": "blue",
        "visibility": visibility,
    });
    let chats = "/api/chats/acme_corp";
    let path = format!("{chats}/c1");
    // The example of a deletion names it.
    let message = json!({"event_id": "evt_msg_002", "role": "user", "content": "secret"});
    for (method, path, body) in [
        ("POST", chats.to_owned(), chat),
        ("PUT", format!("{path}/members/bob"), json!({"role": "member"})),
        ("PUT", format!("{path}/members/carol"), json!({"role": "reader"})),
        ("PUT", format!("{path}/context"), json!({"a": "secret"})),
        ("PUT", format!("{path}/artifact"), json!({"payload": "secret"})),
        ("POST", format!("{path}/calls"), json!({"call_id": "call_0"})),
        ("POST", format!("{path}/streams"), json!({"stream_id": "s1", "format": "text"})),
        ("POST", format!("{path}/input-requests"), json!({"request_id": "q1", "prompt": "Why?"})),
        (
            "POST",
            "/api/wallets/acme_corp/alice/ensure".to_owned(),
            json!({"initial_balance": 1_000}),
        ),
        (
            "PUT",
            "/api/assistants/acme_corp/a1".to_owned(),
            json!({"name": "secret", "user_id": "alice", "team_id": "blue", "visibility": visibility}),
        ),
        (
            "PUT",
            format!(
                "/api/documents/acme_corp/d1?user_id=alice&visibility={visibility}{}",
                if visibility == "team" { "&team_id=blue" } else { "" }
            ),
            json!("secret"),
        ),
    ] {
        let answer = service.json(method, &path, body.to_string()).await;
        assert!(answer.status < 300, "{path}: {}", answer.text);
    }
    let said = alice.post(&format!("{path}/messages"), message).await;
    assert_eq!(said.status, 201, "{}", said.text);
}

/// Returns everything that the chat, its owner's wallet, and the app hold.
async fn state(service: &Client) -> Vec<String> {
    let mut state = Vec::new();
    for below in [
        "",
        "/messages",
        "/context",
        "/context/history",
        "/artifact",
        "/calls",
        "/participants",
        "/members",
        "/input-requests",
        "/resume-points",
        "/lease",
        "/streams",
    ] {
        state.push(service.get(&format!("/api/chats/acme_corp/c1{below}")).await.text);
    }
    state.push(service.get("/api/wallets/acme_corp/alice/entries").await.text);
    state.push(service.get("/api/assistants/acme_corp").await.text);
    state.push(service.get("/api/documents/acme_corp?content=true").await.text);
    state
}

/// Returns the query that an operation requires.
pub(crate) fn required_query(id: &str) -> &'static str {
    match id {
        "token_balance" => "?app_id=acme_corp",
        "diff_context" => "?from=1&to=1",
        "put_transcript" => "?dialect=openai",
        "revoke_lease" => "?acquired_at=2026-11-25T09:30:00Z",
        "search_messages" => "?q=secret",
        "delete_assistants" => "?ids=a1",
        "delete_documents" => "?namespace=d",
        _ => "",
    }
}

pub(crate) async fn call(
    caller: &Client,
    operation: &Operation,
    user: &str,
    chat_id: &str,
) -> Answer {
    let is_of_wallet =
        ["/api/wallets", "/api/tokens"].iter().any(|of| operation.path.starts_with(of));
    let whose = if is_of_wallet { "alice" } else { user };
    let mut path = operation.path.clone();
    for (name, value) in [
        ("app_id", "acme_corp"),
        ("chat_id", chat_id),
        ("user_id", whose),
        ("workflow_name", "Generator"),
        ("sequence", "0"),
        ("event_id", "evt_msg_002"),
        ("call_id", "call_0"),
        ("assistant_id", "a1"),
        ("path", "d1"),
        ("request_id", "q1"),
        ("version", "1"),
        ("stack_id", "stk"),
        ("stream_id", "s1"),
        ("pseudonym", &"0".repeat(64)),
        ("fencing_token", "1"),
    ] {
        path = path.replace(&format!("{{{name}}}"), value);
    }
    assert!(!path.contains('{'), "{path}");
    path.push_str(required_query(&operation.id));
    match &operation.body {
        Value::Null => {
            let request = caller.request(operation.method.as_str(), &path);
            let request = request.body(axum::body::Body::empty()).unwrap();
            caller.send_without_stream(request).await
        }
        body => caller.json(operation.method.as_str(), &path, body.to_string()).await,
    }
}

#[tokio::test]
async fn every_caller_may_do_what_the_model_says_and_nothing_else() {
    let described = operations(&Client::over(memory(), config(false))).await;
    let mut cells = 0;
    let mut wrong = Vec::new();
    let mut all: Vec<_> = callers();
    all.push(("open mode", None));
    for (name, changes) in all {
        for visibility in ["private", "team", "link", "app"] {
            for operation in &described {
                let client = Client::over(memory(), config(name == "open mode"));
                let of = |changes: &Value| client.with_token(token(changes));
                let service = of(&json!({"sub": "orchestrator", "role": "service"}));
                let service = if name == "open mode" { client.clone() } else { service };
                let alice = if name == "open mode" { client.clone() } else { of(&json!({})) };
                chat_of_alice(&service, &alice, visibility).await;
                let before = state(&service).await;
                let caller = changes.as_ref().map_or_else(|| client.clone(), of);
                let user = changes.as_ref().and_then(|it| it["sub"].as_str()).unwrap_or("alice");
                let answer = call(&caller, operation, user, "c1").await;
                let refusals = [
                    "chat-not-found",
                    "input-not-found",
                    "assistant-not-found",
                    "assistant-taken",
                    "document-not-found",
                    "document-taken",
                ];
                let refused = matches!(answer.status, 401 | 403)
                    || (matches!(answer.status, 404 | 409)
                        && refusals.contains(&answer.body()["code"].as_str().unwrap()));
                let found = refused
                    .then(|| (answer.status, answer.body()["code"].as_str().unwrap().to_owned()));
                let expected = refusal(name, visibility, operation);
                let expected = expected.map(|(status, slug)| (status, slug.to_owned()));
                if found != expected || answer.status >= 500 {
                    wrong.push(format!(
                        "{name}, {visibility}, {}: {expected:?} expected: {} {}",
                        operation.id, answer.status, answer.text
                    ));
                }
                if expected.is_some() {
                    if state(&service).await != before {
                        wrong.push(format!(
                            "{name}, {visibility}, {} changed something",
                            operation.id
                        ));
                    }
                    // What may not be seen is answered like what does not exist.
                    if answer.status == 404 && operation.path.contains("{chat_id}") {
                        let unknown = call(&caller, operation, user, "c9").await;
                        let same = unknown.text.replace("c9", "c1") == answer.text;
                        if !same || unknown.headers.len() != answer.headers.len() {
                            wrong.push(format!("{name}, {visibility}, {} tells", operation.id));
                        }
                    }
                }
                cells += 1;
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {cells} cells:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(cells, 11 * 4 * described.len());
}

#[tokio::test]
async fn a_chat_says_what_its_caller_may_do() {
    let operations = operations(&Client::over(memory(), config(false))).await;
    let typical = [
        ("create", "fork_chat"),
        ("read", "list_messages"),
        ("say", "append_messages"),
        ("run", "pause_chat"),
        ("bill", "record_calls"),
        ("manage", "archive_chat"),
    ];
    let typical = typical
        .map(|(permission, id)| (permission, operations.iter().find(|it| it.id == id).expect(id)));
    for visibility in ["private", "team", "link", "app"] {
        let client = Client::over(memory(), config(false));
        let of = |claims: &Value| client.with_token(token(claims));
        let service = of(&json!({"sub": "orchestrator", "role": "service"}));
        chat_of_alice(&service, &of(&json!({})), visibility).await;
        for (name, claims) in callers() {
            let Some(claims) = claims else { continue };
            let answer = of(&claims).get("/api/chats/acme_corp/c1?permissions=true").await;
            let permitted = typical.iter().filter(|it| refusal(name, visibility, it.1).is_none());
            let permitted: Vec<_> = permitted.map(|(permission, _)| *permission).collect();
            if permitted.is_empty() {
                assert!(matches!(answer.status, 403 | 404), "{name}, {visibility}");
            } else {
                assert_eq!(answer.body()["permissions"], json!(permitted), "{name}, {visibility}");
            }
            let inbox = "/api/input-requests/acme_corp?permissions=true";
            let asked = of(&claims).get(inbox).await.body()["data"].clone();
            let is_listed = ["owner", "member", "reader", "support", "service"].contains(&name)
                || (name == "teammate" && visibility == "team");
            assert_eq!(asked.as_array().is_some_and(|it| !it.is_empty()), is_listed, "{name}");
            if is_listed {
                assert_eq!(asked[0]["permissions"], json!(permitted), "{name}, {visibility}");
            }
        }
    }
    let client = Client::over(memory(), config(true));
    let chat = client.create_chat("c1").await;
    let all = json!(["create", "read", "say", "run", "bill", "manage"]);
    let asked = client.get(&format!("{chat}?permissions=true")).await;
    assert_eq!(asked.body()["permissions"], all);
    assert_eq!(client.get(&chat).await.body().get("permissions"), None);
}

#[tokio::test]
async fn support_is_admitted_only_where_the_setting_says_so() {
    let client = Client::over(memory(), Config { auth: hs256(), ..Config::default() });
    let support = client.with_token(token(&json!({"sub": "sue", "role": "support"})));
    let list = support.get("/api/chats/acme_corp").await;
    assert_eq!(list.problem(), (403, "forbidden-role".to_owned()));
}

#[tokio::test]
async fn users_run_the_workflows_of_their_own_chats_if_the_setting_says_so() {
    let settings = AppSettings { users_may_run: true, ..AppSettings::default() };
    let apps = AppsConfig { settings, ..AppsConfig::default() };
    let client = Client::over(memory(), Config { auth: hs256(), apps, ..Config::default() });
    let [alice, bob] = ["alice", "bob"].map(|sub| client.with_token(token(&json!({"sub": sub}))));
    let chat = alice.create_chat("c1").await;
    let spoken = json!({"role": "assistant", "content": "done"});
    for (caller, status) in [(&alice, 201), (&bob, 403)] {
        assert_eq!(caller.post(&format!("{chat}/messages"), spoken.clone()).await.status, status);
        let paused = caller.poke(&format!("{chat}/pause")).await;
        assert_eq!(paused.status, if status == 201 { 200 } else { 403 });
    }
    // Bob's own messages stay his; alice may edit them, because she runs the workflow.
    let said = json!({"role": "user", "content": "mine"});
    assert_eq!(bob.post(&format!("{chat}/messages"), said).await.status, 201);
    let edit = json!({"content": "edited"});
    assert_eq!(bob.patch(&format!("{chat}/messages/0"), edit.clone()).await.status, 403);
    assert_eq!(bob.patch(&format!("{chat}/messages/1"), edit.clone()).await.status, 200);
    assert_eq!(alice.patch(&format!("{chat}/messages/1"), edit).await.status, 200);
}
