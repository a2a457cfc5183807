//! The OpenAPI document that `GET /openapi.json` returns.

mod complete;
mod described_router;
pub(crate) mod values;

pub(crate) use complete::complete;
pub(crate) use described_router::DescribedRouter;
pub(crate) use values::{any_of, merged};

use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::routing::{MethodRouter, get};
use serde_json::Value;
use utoipa::openapi::path::{ParameterBuilder, ParameterIn};
use utoipa::openapi::security::{HttpAuthScheme, HttpBuilder, SecurityScheme};
use utoipa::openapi::{ObjectBuilder, OpenApi as Document, Required, Type};
use utoipa::{IntoParams, Modify, OpenApi};

use crate::problem::ProblemResponse;

/// The parts of the OpenAPI document that belong to no single route.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Reprise",
        contact(name = "The operators of this service"),
        description = "Stores the conversations of multi-agent workflows and resumes them.\n\n\
            Every error is a problem document (RFC 9457); its `type` is the address of a page about it, and \
            its `code` never changes.",
    ),
    // Only parameters have the other ones.
    components(schemas(ProblemResponse, values::Unsettled)),
    modifiers(&BearerToken),
    security(("bearer_token" = [])),
    tags(
        (name = "chat sessions", description = "The runs of workflows"),
        (name = "messages", description = "The messages of a chat, in order"),
        (name = "members", description = "The users with whom a chat is shared by name"),
        (name = "participants", description = "The participants of a chat, and the present users"),
        (name = "events", description = "The live events of a chat"),
        (name = "input requests", description = "The questions that workflows wait for, and their answers"),
        (name = "user input", description = "Inputs of users to a workflow, in the shapes of MozaiksAI"),
        (name = "context snapshot", description = "The variables that an orchestrator resumes from"),
        (name = "artifact", description = "The artifact that the user's panel shows"),
        (name = "turns", description = "Turns of a conversation, and how interrupted and failed turns are resumed"),
        (name = "leases", description = "The exclusive right to continue a chat"),
        (name = "calls", description = "The calls of model providers, and their usage"),
        (name = "stats", description = "Statistics and costs of workflows, for the roles service and operator"),
        (name = "apps", description = "The registry of apps, for the role operator"),
        (name = "wallets", description = "The tokens of users, and every change of their balances"),
        (name = "tokens", description = "Wallets in the shapes of MozaiksAI"),
        (name = "sign-in", description = "People sign in in a browser, so that pages need no token"),
        (name = "metrics", description = "Service metrics"),
        (name = "health", description = "Liveness and readiness"),
    ),
)]
pub(crate) struct Api;

struct BearerToken;

impl Modify for BearerToken {
    fn modify(&self, document: &mut Document) {
        let scheme = HttpBuilder::new()
            .scheme(HttpAuthScheme::Bearer)
            .bearer_format("JWT")
            .description(Some("Required unless the service runs with `auth.mode = \"none\"`"))
            .build();
        let components = document.components.get_or_insert_default();
        components.add_security_scheme("bearer_token", SecurityScheme::Http(scheme));
    }
}

/// The path parameters of an app.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `AppScope` and `OperatedApp` read")]
pub(crate) struct AppPath {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(value_type = values::AppId, example = "acme_corp")]
    app_id: String,
}

/// The further path parameter of a workflow.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `WorkflowScope` reads")]
pub(crate) struct WorkflowPath {
    /// The workflow: 1 to 128 visible characters, without blanks at its ends.
    #[param(value_type = values::Name, example = "Generator")]
    workflow_name: String,
}

/// The path parameter of a user.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `UnscopedUser` reads")]
pub(crate) struct UserPath {
    /// The user: 1 to 128 visible characters, without blanks at its ends.
    #[param(value_type = values::Name, example = "user_alice_456")]
    user_id: String,
}

/// The path parameters of a chat.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `ChatScope` reads")]
pub(crate) struct ChatPath {
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(value_type = values::AppId, example = "acme_corp")]
    app_id: String,
    /// The chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`.
    #[param(value_type = values::ChatId, example = "chat_abc123def456")]
    chat_id: String,
}

/// The path parameters of a WebSocket.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `SocketRequest` reads")]
pub(crate) struct SocketPath {
    /// The workflow of the chat.
    #[param(value_type = values::Name, example = "Generator")]
    workflow_name: String,
    /// The app: 1 to 64 of `A-Z a-z 0-9 _ -`.
    #[param(value_type = values::AppId, example = "acme_corp")]
    app_id: String,
    /// The chat: 1 to 128 of `A-Z a-z 0-9 _ - . :`.
    #[param(value_type = values::ChatId, example = "chat_abc123def456")]
    chat_id: String,
    /// The user who joins: the user of the token; with the role `service`, any user.
    #[param(value_type = values::Name, example = "user_alice_456")]
    user_id: String,
}

/// The further path parameter of a message.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `PathSequence` reads")]
pub(crate) struct MessagePath {
    /// The sequence of the message.
    #[param(example = 1)]
    sequence: u64,
}

/// The further path parameter of a version of the context snapshot.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what `PathContextVersion` reads")]
pub(crate) struct ContextVersionPath {
    /// The version of the snapshot.
    #[param(example = 1)]
    version: u64,
}

/// The further path parameter of a call.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what an extractor reads from the path")]
pub(crate) struct CallPath {
    /// The call: 1 to 128 visible characters, without blanks at its ends.
    #[param(value_type = values::Name, example = "call_0198d4b2")]
    call_id: String,
}

/// The further path parameter of an input request.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what an extractor reads from the path")]
pub(crate) struct InputRequestPath {
    /// The request: 1 to 128 visible characters, without blanks at its ends.
    #[param(value_type = values::Name, example = "input_0198d4b2")]
    request_id: String,
}

/// The further path parameter of a lease.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what an extractor reads from the path")]
pub(crate) struct LeasePath {
    /// The fencing token of the lease.
    #[param(minimum = 1, example = 3)]
    fencing_token: u64,
}

/// The further path parameter of a call in a call stack.
#[derive(IntoParams)]
#[into_params(parameter_in = Path)]
#[expect(dead_code, reason = "describes what an extractor reads from the path")]
pub(crate) struct StackPath {
    /// The call: 1 to 128 visible characters, without blanks at its ends.
    #[param(value_type = values::Name, example = "stk_002")]
    stack_id: String,
}

/// The header with a fencing token.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes what `ChatScope` reads")]
pub(crate) struct FencingHeader {
    /// The fencing token of the lease under which the caller writes. Once the lease is lost, the write is refused
    /// with `fenced`.
    #[param(rename = "Fencing-Token", minimum = 1, required = false)]
    fencing_token: Option<u64>,
}

/// The header with what the caller has seen of the record.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes what `ChatScope` reads")]
pub(crate) struct IfMatchHeader {
    /// The `ETag` of the record as the caller has read it, or `*` for any. If the record is another one by then, the
    /// write is refused with `precondition-failed`.
    #[param(rename = "If-Match", required = false, example = "\"3\"")]
    if_match: Option<String>,
}

/// The header with what the caller has of the record.
#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes what a layer reads")]
pub(crate) struct IfNoneMatchHeader {
    /// The `ETag` of the record as the caller has it. If it is still the same, the response is 304 without a body.
    #[param(rename = "If-None-Match", required = false, example = "\"3\"")]
    if_none_match: Option<String>,
}

#[derive(IntoParams)]
#[into_params(parameter_in = Header)]
#[expect(dead_code, reason = "describes what `Preference` reads")]
pub(crate) struct PreferHeader {
    /// `return=minimal` for a response without the variables.
    #[param(rename = "Prefer", required = false, example = "return=minimal")]
    prefer: Option<String>,
}

/// Describes the header `Idempotency-Key` of every `POST` that has a body.
pub(crate) struct IdempotencyHeader;

impl Modify for IdempotencyHeader {
    fn modify(&self, document: &mut Document) {
        let schema = ObjectBuilder::new().schema_type(Type::String).min_length(Some(1));
        let description = "Makes the request safe to repeat: the id that the body would otherwise have (`chat_id`, \
            `event_id`, `call_id`, `request_id`, `entry_id` or `lease_id`), which must be missing then. The records of \
            a list get `{key}/0`, `{key}/1` and so on. A request that is safe to repeat without an id ignores it.";
        let header = ParameterBuilder::new()
            .name("Idempotency-Key")
            .parameter_in(ParameterIn::Header)
            .required(Required::False)
            .description(Some(description))
            .schema(Some(schema))
            .example(Some("0198d4b2-7c1e-7a3b-9f55-2f6c1d0e8a41".into()))
            .build();
        let operations = document.paths.paths.values_mut().filter_map(|path| path.post.as_mut());
        for operation in operations.filter(|operation| operation.request_body.is_some()) {
            operation.parameters.get_or_insert_default().push(header.clone().into());
        }
    }
}

/// Serves the document, which is serialized once.
pub(crate) fn served<S>(document: &Value) -> MethodRouter<S>
where
    S: Clone + Send + Sync + 'static,
{
    let text = serde_json::to_vec(document).map(Bytes::from);
    let text = text.unwrap_or_default();
    get(async move || ([(CONTENT_TYPE, "application/json")], text))
}
