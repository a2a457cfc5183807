//! The description of the API that `GET /openapi.json` serves.

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{MethodRouter, get};
use utoipa::openapi::OpenApi as Document;
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::{IntoParams, Modify, OpenApi};

use crate::problem::{ProblemExamples, ProblemResponse};

/// Everything about the API that no single route says.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Reprise",
        description = "Keeps the conversations of multi-agent workflows and brings them back.\n\n\
            Every error is a problem document (RFC 9457); its `type` is a stable slug.",
    ),
    components(schemas(ProblemResponse)),
    modifiers(&BearerToken, &ProblemExamples),
    security(("bearer_token" = [])),
    tags(
        (name = "chat sessions", description = "The runs of workflows"),
        (name = "messages", description = "What was said, in order"),
        (name = "participants", description = "Who takes part in a chat, and who is present"),
        (name = "events", description = "What happens in a chat, as it happens"),
        (name = "input requests", description = "The questions that workflows wait on, and their answers"),
        (name = "user input", description = "What people say to a workflow, in the shapes of MozaiksAI"),
        (name = "context snapshot", description = "The state an orchestrator resumes from"),
        (name = "artifact", description = "What the user's artifact panel shows"),
        (name = "turns", description = "What requests of users bring about, and how those that broke off are resumed"),
        (name = "leases", description = "Who alone may carry a chat on"),
        (name = "calls", description = "The calls of models that a chat has made, and what they took"),
        (name = "stats", description = "What workflows do and cost, for the roles service and operator"),
        (name = "apps", description = "Which apps there are, and which may be called"),
        (name = "wallets", description = "The tokens of users, and every change of them"),
        (name = "tokens", description = "Wallets in the shapes of MozaiksAI"),
        (name = "metrics", description = "How the service fares"),
        (name = "health", description = "Whether the service runs, and whether it can work"),
    ),
)]
pub(crate) struct Api;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("Needed unless the service runs with `auth.mode = \"none\"`"))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer_token", SecurityScheme::Http(scheme));
    }
}

/// The path of an app.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `AppScope` and `OperatedApp` read")]
pub(crate) struct AppPath {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(example = "acme_corp")]
    app_id: String,
}

/// What the path of a workflow has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `WorkflowScope` reads")]
pub(crate) struct WorkflowPath {
    /// The workflow: 1 to 128 characters without control characters.
    #[param(example = "Generator")]
    workflow_name: String,
}

/// The path of a user.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `UnscopedUser` reads")]
pub(crate) struct UserPath {
    /// The user: 1 to 128 characters without control characters.
    #[param(example = "user_alice_456")]
    user_id: String,
}

/// The path of a chat.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `ChatScope` reads")]
pub(crate) struct ChatPath {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(example = "acme_corp")]
    app_id: String,
    /// The chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`.
    #[param(example = "chat_abc123def456")]
    chat_id: String,
}

/// The path of a WebSocket.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `SocketRequest` reads")]
pub(crate) struct SocketPath {
    /// The workflow of the chat.
    #[param(example = "Generator")]
    workflow_name: String,
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(example = "acme_corp")]
    app_id: String,
    /// The chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`.
    #[param(example = "chat_abc123def456")]
    chat_id: String,
    /// Who joins: the user of the token, or anybody where a service does.
    #[param(example = "user_alice_456")]
    user_id: String,
}

/// What the path of a message has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `PathSequence` reads")]
pub(crate) struct MessagePath {
    /// The position of the message in the chat.
    #[param(example = 1)]
    sequence: u64,
}

/// What the path of a version of the context snapshot has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `PathContextVersion` reads")]
pub(crate) struct ContextVersionPath {
    /// The version of the snapshot.
    #[param(example = 1)]
    version: u64,
}

/// What the path of a call has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what is read from the path")]
pub(crate) struct CallPath {
    /// The call: 1 to 128 characters without control characters.
    #[param(example = "call_0198d4b2")]
    call_id: String,
}

/// What the path of an input request has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what is read from the path")]
pub(crate) struct InputRequestPath {
    /// The request: 1 to 128 characters without control characters.
    #[param(example = "input_0198d4b2")]
    request_id: String,
}

/// What the path of a lease has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what is read from the path")]
pub(crate) struct LeasePath {
    /// The fencing token of the lease.
    #[param(minimum = 1, example = 3)]
    fencing_token: u64,
}

/// What the path of a call in a call stack has besides.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what is read from the path")]
pub(crate) struct StackPath {
    /// The call: 1 to 128 characters without control characters.
    #[param(example = "stk_002")]
    stack_id: String,
}

/// The header of a write to a chat.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes what `ChatScope` reads")]
pub(crate) struct FencingHeader {
    /// The fencing token of the lease under which the caller writes; once that is gone the answer is `fenced`.
    #[param(rename = "Fencing-Token", minimum = 1, required = false)]
    fencing_token: Option<u64>,
}

/// Serves the document, written once.
pub(crate) fn served<S>(document: &Document) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let text = serde_json::to_vec(document).map(Bytes::from);
    let text = text.unwrap_or_default();
    get(async move || ([(CONTENT_TYPE, "application/json")], text))
}
