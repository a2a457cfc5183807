//! The whole API over a store in memory, with one record of each kind in an app of its own for each input.

use std::sync::Arc;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, Request, StatusCode};
use persistence::Store;
use persistence::memory::MemoryStore;
use records::{SystemClock, Uuid7Ids};
use serde_json::{Value, json};
use service::{Config, LimitsConfig, SearchConfig, router};
use tokio::runtime::{Builder, Runtime};
use tower::ServiceExt as _;

/// The longest that one request may take.
const MAX_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 10 } else { 1 });

/// An operation of the API or of an adapter.
#[derive(Debug)]
pub(crate) struct Operation {
    /// The id in its description, after the name of its adapter.
    pub(crate) id: String,
    pub(crate) method: Method,
    pub(crate) path: String,
    /// The names of its query parameters.
    pub(crate) parameters: Vec<String>,
    /// The example of its body, if it has a body of JSON.
    pub(crate) example: Option<Value>,
    /// Whether it belongs to an adapter, whose errors have another form.
    pub(crate) is_foreign: bool,
}

/// A service, and what its requests run in.
pub(crate) struct World {
    runtime: Runtime,
    router: Router,
}

/// An app of a world in which an input finds one record of each kind.
pub(crate) struct App<'a> {
    world: &'a World,
    pub(crate) id: String,
}

/// A response.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl World {
    /// Builds a service with these settings.
    pub(crate) fn new(config: Config) -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().unwrap();
        let store = MemoryStore::new(Arc::new(SystemClock), Arc::new(Uuid7Ids));
        Self::over(runtime, Arc::new(store), config)
    }

    /// Builds a service over a store.
    pub(crate) fn over(runtime: Runtime, store: Arc<dyn Store>, config: Config) -> Self {
        let router = runtime.block_on(async { router(store, config) }).unwrap();
        Self { runtime, router }
    }

    /// Returns settings without quotas, with all adapters.
    pub(crate) fn config() -> Config {
        let mut config = Config {
            limits: LimitsConfig {
                requests_per_sec_per_user: 0,
                requests_per_sec_per_app: 0,
                requests_per_sec_per_address: 0,
                new_chats_per_min_per_user: 0,
                new_chats_per_min_per_app: 0,
                questions_per_min_per_app: 0,
                failed_attempts_per_min_per_address: 0,
                ..LimitsConfig::default()
            },
            search: SearchConfig { enabled: true },
            ..Config::default()
        };
        config.adapters.chatsg.enabled = true;
        config.adapters.discobot.enabled = true;
        config.adapters.hecate.enabled = true;
        config.adapters.mozaiks.enabled = true;
        config.adapters.yao.enabled = true;
        config
    }

    /// Lends an empty app to an input, in a world of its own: the ids of chats are unique among all apps.
    pub(crate) fn lend(check: impl FnOnce(&App<'_>)) {
        let world = Self::new(Self::config());
        check(&App { world: &world, id: "app_001".to_owned() });
    }

    pub(crate) fn runtime(&self) -> &Runtime {
        &self.runtime
    }

    pub(crate) fn router(&self) -> Router {
        self.router.clone()
    }

    /// Sends a request, and reads the whole response; of a stream of events only the head.
    pub(crate) fn send(&self, request: Request<Body>) -> Answer {
        let started = Instant::now();
        let answer = self.runtime.block_on(async {
            let response = self.router.clone().oneshot(request).await.unwrap();
            let (head, body) = response.into_parts();
            let is_stream = head
                .headers
                .get("content-type")
                .is_some_and(|value| value.as_bytes().starts_with(b"text/event-stream"));
            let body = if is_stream { Body::empty() } else { body };
            let body = to_bytes(body, usize::MAX).await.expect("the body is complete");
            Answer { status: head.status, headers: head.headers, body }
        });
        assert!(started.elapsed() < MAX_TIME, "a request took {:?}", started.elapsed());
        answer
    }
}

impl App<'_> {
    pub(crate) fn world(&self) -> &World {
        self.world
    }

    /// Sends a request with a body of JSON, unless it is empty.
    pub(crate) fn call(&self, method: &str, path: &str, body: &[u8]) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if !body.is_empty() {
            request = request.header("content-type", "application/json");
        }
        self.world.send(request.body(Body::from(body.to_vec())).unwrap())
    }

    /// Makes a request that must succeed.
    pub(crate) fn must(&self, method: &str, path: &str, body: &Value) -> Answer {
        let answer = self.call(method, path, body.to_string().as_bytes());
        assert!(answer.status.is_success(), "{method} {path}: {answer:?}");
        answer
    }

    /// Creates the chat `c1`, and returns its path.
    pub(crate) fn create_chat(&self) -> String {
        let chats = format!("/api/chats/{}", self.id);
        let new = json!({"chat_id": "c1", "workflow_name": "Generator", "user_id": "alice", "title": "Trips"});
        self.must("POST", &chats, &new);
        format!("{chats}/c1")
    }

    /// Creates a record of each kind that operations name in their paths.
    pub(crate) fn fill(&self) -> String {
        let chat = self.create_chat();
        let said = json!({"messages": [
            {"event_id": "evt_1", "role": "user", "content": "Hello"},
            {"event_id": "evt_2", "role": "assistant", "name": "planner", "content": ["Hi"]},
        ]});
        self.must("POST", &format!("{chat}/messages"), &said);
        self.must("PUT", &format!("{chat}/context"), &json!({"a": {"b": 1}}));
        self.must("PUT", &format!("{chat}/artifact"), &json!({"payload": {"x": 1}}));
        let question = json!({"request_id": "q1", "prompt": "Sure?", "kind": "confirm"});
        self.must("POST", &format!("{chat}/input-requests"), &question);
        let stream = json!({"stream_id": "s1", "format": "text"});
        self.must("POST", &format!("{chat}/streams"), &stream);
        let assistant = json!({"name": "Planner", "type": "assistant", "connector": "x"});
        self.call(
            "PUT",
            &format!("/api/assistants/{}/as1", self.id),
            assistant.to_string().as_bytes(),
        );
        self.must("PUT", &format!("/api/documents/{}/notes/a", self.id), &json!([1, 2, 3]));
        let wallet = json!({"initial_tokens": 10});
        self.call(
            "POST",
            &format!("/api/wallets/{}/alice/ensure", self.id),
            wallet.to_string().as_bytes(),
        );
        chat
    }

    /// Returns the path of an operation. `last` stands for its last parameter.
    pub(crate) fn path_of(&self, operation: &Operation, last: Option<&[u8]>) -> String {
        let count = operation.path.matches('{').count();
        let (mut path, mut number) = (String::new(), 0);
        for (index, part) in operation.path.split(['{', '}']).enumerate() {
            if index % 2 == 0 {
                path.push_str(part);
                continue;
            }
            number += 1;
            match last.filter(|_| number == count && part != "app_id") {
                Some(value) => path.push_str(&encoded(value)),
                None => path.push_str(self.value_of(part.trim_start_matches('*'))),
            }
        }
        path
    }

    /// Returns the value of a parameter in paths.
    fn value_of(&self, name: &str) -> &str {
        match name {
            "app_id" => &self.id,
            "user_id" | "pseudonym" => "alice",
            "event_id" | "message_id" => "evt_1",
            "request_id" => "q1",
            "stream_id" | "stack_id" => "s1",
            "assistant_id" => "as1",
            "sequence" | "fencing_token" | "version" | "index" => "1",
            "workflow_name" => "Generator",
            "path" => "notes/a",
            _ => "c1",
        }
    }
}

impl Answer {
    /// Checks what holds for every response: it is no failure of the service, its JSON is JSON, and a refusal says what is refused.
    pub(crate) fn check(&self, is_foreign: bool) {
        let text = || String::from_utf8_lossy(&self.body);
        assert!(!self.status.is_server_error(), "{}: {}", self.status, text());
        let kind = self.headers.get("content-type").map_or(&b""[..], HeaderValue::as_bytes);
        let is_part = self.status == StatusCode::PARTIAL_CONTENT;
        if !kind.ends_with(b"json") || kind.ends_with(b"ndjson") || is_part || self.body.is_empty()
        {
            assert!(is_foreign || !self.status.is_client_error(), "{}: {}", self.status, text());
            return;
        }
        let body: Value = serde_json::from_slice(&self.body).expect("JSON is JSON");
        if is_foreign || !self.status.is_client_error() {
            return;
        }
        assert_eq!(kind, b"application/problem+json", "{}", text());
        assert_eq!(body["status"], self.status.as_u16(), "{}", text());
        let has_text = |value: &Value| value.as_str().is_some_and(|text| !text.is_empty());
        assert!(has_text(&body["code"]) && has_text(&body["detail"]), "{}", text());
        if body["code"] == "invalid-request" {
            let errors = body["errors"].as_array().expect("it says which part is refused");
            assert!(!errors.is_empty());
            for error in errors {
                assert!(has_text(&error["detail"]), "{}", text());
                // A parameter may have an empty name.
                let names = ["pointer", "parameter"];
                assert!(names.iter().any(|it| error[it].is_string()), "{}", text());
            }
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON is JSON")
    }
}

/// Writes bytes as a part of an address: every byte but a few as an escape.
pub(crate) fn encoded(bytes: &[u8]) -> String {
    let of = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => {
            char::from(*byte).to_string()
        }
        other => format!("%{other:02X}"),
    };
    bytes.iter().map(of).collect()
}

/// Makes bytes a query of an address: what may not be in one becomes an escape.
pub(crate) fn query(bytes: &[u8]) -> String {
    let of = |byte: &u8| match byte {
        b'#'
        | b'"'
        | b'<'
        | b'>'
        | b' '
        | b'\\'
        | b'^'
        | b'`'
        | b'{'
        | b'|'
        | b'}'
        | 0..=31
        | 127.. => {
            format!("%{byte:02X}")
        }
        other => char::from(*other).to_string(),
    };
    bytes.iter().map(of).collect()
}

/// Reads a header; `None` if bytes are none.
pub(crate) fn header(line: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = HeaderName::from_bytes(&line[..colon]).ok()?;
    let value = HeaderValue::from_bytes(line[colon + 1..].trim_ascii()).ok()?;
    Some((name, value))
}

/// Every operation, as its description says.
pub(crate) static OPERATIONS: LazyLock<Vec<Operation>> = LazyLock::new(|| {
    let world = World::new(World::config());
    let own = ("/openapi.json", false);
    let foreign = ["chatsg", "discobot", "hecate", "mozaiks", "yao"];
    let foreign = foreign.map(|name| format!("/{name}/openapi.json"));
    let descriptions = foreign.iter().map(|path| (path.as_str(), true));
    let mut operations = Vec::new();
    for (path, is_foreign) in [own].into_iter().chain(descriptions) {
        let request = Request::builder().uri(path).body(Body::empty()).unwrap();
        let answer = world.send(request);
        assert!(answer.status.is_success(), "{path}: {answer:?}");
        let prefix = if is_foreign {
            path.trim_start_matches('/').replace("/openapi.json", ".")
        } else {
            String::new()
        };
        add_operations(&answer.json(), &prefix, &mut operations);
    }
    operations
});

/// Returns the operation with this id.
pub(crate) fn operation(id: &[u8]) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.id.as_bytes() == id)
}

fn add_operations(document: &Value, prefix: &str, operations: &mut Vec<Operation>) {
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let parameters = operation["parameters"].as_array().into_iter().flatten();
            let in_query = parameters.filter(|it| it["in"] == "query");
            let names = in_query.filter_map(|it| it["name"].as_str()).map(str::to_owned);
            let body = &operation["requestBody"]["content"]["application/json"]["schema"];
            operations.push(Operation {
                id: format!("{prefix}{}", operation["operationId"].as_str().unwrap()),
                method: method.to_uppercase().parse().unwrap(),
                path: path.clone(),
                parameters: names.collect(),
                example: example(document, resolved(document, body))
                    .or_else(|| body.is_object().then(|| json!({}))),
                is_foreign: !prefix.is_empty(),
            });
        }
    }
}

/// Returns a schema, or the one it refers to.
fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let pointer = schema["$ref"].as_str();
    pointer.map_or(schema, |pointer| document.pointer(&pointer[1..]).unwrap())
}

/// Returns the example of a schema; of a union, that of its first member.
fn example(document: &Value, schema: &Value) -> Option<Value> {
    let of_member = |union: &str| example(document, resolved(document, schema.get(union)?.get(0)?));
    let own = schema.get("example").or_else(|| schema.get("examples")?.get(0));
    own.cloned().or_else(|| of_member("oneOf")).or_else(|| of_member("anyOf"))
}
