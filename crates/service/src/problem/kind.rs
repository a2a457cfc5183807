use axum::http::StatusCode;
use utoipa::openapi::{RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use crate::wire::values::words;

/// A kind of problem: its stable code, its title for people, and its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProblemKind {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) status: StatusCode,
}

impl ProblemKind {
    /// Returns the address of the page about this kind, relative to that of the service.
    pub(crate) fn uri(self) -> String {
        format!("/problems/{}", self.code)
    }
}

/// The schema of the code of a problem.
pub(crate) enum ProblemCode {}

impl PartialSchema for ProblemCode {
    fn schema() -> RefOr<Schema> {
        let codes = words(ProblemKind::ALL.iter().map(|kind| kind.code));
        codes.description(Some("A kind of problem.")).into()
    }
}

impl ToSchema for ProblemCode {}

/// Declares the kinds: their status, code and title.
macro_rules! kinds {
    ($($name:ident = $status:ident, $code:literal, $title:literal;)+) => {
        impl ProblemKind {
            /// Every kind.
            pub(crate) const ALL: &[Self] = &[$(Self::$name),+];

            $(pub(crate) const $name: Self =
                Self { code: $code, title: $title, status: StatusCode::$status };)+
        }
    };
}

kinds! {
    INVALID_TRANSFER_ENCODING = BAD_REQUEST, "invalid-transfer-encoding", "Not a transfer coding that is accepted";
    INVALID_HOST = BAD_REQUEST, "invalid-host", "Not one Host";
    MALFORMED_JSON = BAD_REQUEST, "malformed-json", "The body is not JSON";
    INVALID_APP_ID = BAD_REQUEST, "invalid-app-id", "Not an app id";
    UNAUTHENTICATED = UNAUTHORIZED, "unauthenticated", "A valid token is needed";
    INSUFFICIENT_TOKENS = PAYMENT_REQUIRED, "insufficient-tokens", "The wallet holds too few tokens";
    APP_DISABLED = FORBIDDEN, "app-disabled", "The app is disabled";
    FORBIDDEN_APP = FORBIDDEN, "forbidden-app", "The token is not for this app";
    FORBIDDEN_ORIGIN = FORBIDDEN, "forbidden-origin", "The page or host is not accepted";
    FORBIDDEN_OWNER = FORBIDDEN, "forbidden-owner", "Not the caller's own";
    FORBIDDEN_PERMISSION = FORBIDDEN, "forbidden-permission", "The caller may read this, and may not do that";
    SIGN_IN_FAILED = FORBIDDEN, "sign-in-failed", "The person was not signed in";
    NO_SEARCH = NOT_FOUND, "no-search", "Messages cannot be searched here";
    NO_SIGN_IN = NOT_FOUND, "no-sign-in", "People cannot sign in here";
    FORBIDDEN_ROLE = FORBIDDEN, "forbidden-role", "The token has another role";
    NO_SUCH_ROUTE = NOT_FOUND, "no-such-route", "No such route";
    APP_NOT_FOUND = NOT_FOUND, "app-not-found", "No such app";
    ERASURE_NOT_FOUND = NOT_FOUND, "erasure-not-found", "No such erasure";
    CHAT_NOT_FOUND = NOT_FOUND, "chat-not-found", "No such chat";
    MESSAGE_NOT_FOUND = NOT_FOUND, "message-not-found", "No such message";
    CONTEXT_VERSION_NOT_FOUND = NOT_FOUND, "context-version-not-found", "No such version of the context snapshot";
    ASSISTANT_NOT_FOUND = NOT_FOUND, "assistant-not-found", "No such assistant";
    DOCUMENT_NOT_FOUND = NOT_FOUND, "document-not-found", "No such document";
    WALLET_NOT_FOUND = NOT_FOUND, "wallet-not-found", "No such wallet";
    METHOD_NOT_ALLOWED = METHOD_NOT_ALLOWED, "method-not-allowed", "The route has no such method";
    NOT_ACCEPTABLE = NOT_ACCEPTABLE, "not-acceptable", "No acceptable media type";
    UPGRADE_REQUIRED = UPGRADE_REQUIRED, "upgrade-required", "The route speaks WebSocket";
    BODY_TIMEOUT = REQUEST_TIMEOUT, "body-timeout", "The body did not arrive in time";
    CHAT_EXISTS = CONFLICT, "chat-exists", "The chat exists already";
    ASSISTANT_TAKEN = CONFLICT, "assistant-taken", "The id belongs to another assistant";
    DOCUMENT_TAKEN = CONFLICT, "document-taken", "The path belongs to another document";
    CHAT_HELD = CONFLICT, "chat-held", "The chat is under hold";
    CHAT_ENDED = CONFLICT, "chat-ended", "The chat takes no more messages";
    APPEND_CONFLICT = CONFLICT, "append-conflict", "The key belongs to another write";
    EVENT_CONFLICT = CONFLICT, "event-conflict", "The event id belongs to another message";
    CALL_CONFLICT = CONFLICT, "call-conflict", "The call id belongs to another call";
    TOOL_RUN_CONFLICT = CONFLICT, "tool-run-conflict", "The run id belongs to another run";
    ENTRY_CONFLICT = CONFLICT, "entry-conflict", "The entry id belongs to another change";
    BALANCE_TOO_LARGE = CONFLICT, "balance-too-large", "The wallet cannot hold so much";
    INPUT_NOT_FOUND = NOT_FOUND, "input-not-found", "No such input request";
    INPUT_CONFLICT = CONFLICT, "input-conflict", "The request id belongs to another question";
    INPUT_CLOSED = CONFLICT, "input-closed", "The input request takes no more answers";
    TOOL_CALL_MISMATCH = CONFLICT, "tool-call-mismatch", "The answer is for another tool call";
    UNSETTLED_TOOL_CALLS = CONFLICT, "unsettled-tool-calls", "Tool calls have no results";
    TOO_MANY_INPUTS = CONFLICT, "too-many-inputs", "Too many pending input requests";
    TOO_MANY_REVOCATIONS = CONFLICT, "too-many-revocations", "The list of revocations is full";
    TOO_MANY_MEMBERS = CONFLICT, "too-many-members", "The chat has as many members as it may have";
    TOO_MANY_PARTICIPANTS = CONFLICT, "too-many-participants", "The chat has as many participants as it may have";
    STREAM_NOT_FOUND = NOT_FOUND, "stream-not-found", "No such stream";
    STREAM_CONFLICT = CONFLICT, "stream-conflict", "The stream cannot be written in this way";
    BUSY = CONFLICT, "busy", "Another owner holds the lease";
    FENCED = CONFLICT, "fenced", "The lease is gone";
    TURN_CONFLICT = CONFLICT, "turn-conflict", "The request id belongs to another turn";
    BROKEN_CALL_STACK = CONFLICT, "broken-call-stack", "The call stack has no root";
    STACK_NOT_FOUND = NOT_FOUND, "stack-not-found", "No such call";
    ILLEGAL_TRANSITION = CONFLICT, "illegal-transition", "The chat cannot take that status";
    SEQUENCE_CONFLICT = CONFLICT, "sequence-conflict", "The chat has another number of messages";
    PRECONDITION_FAILED = PRECONDITION_FAILED, "precondition-failed", "The record has changed";
    BODY_TOO_LARGE = PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large";
    MESSAGE_TOO_LARGE = PAYLOAD_TOO_LARGE, "message-too-large", "The message is too large";
    BATCH_TOO_LARGE = PAYLOAD_TOO_LARGE, "batch-too-large", "The batch is too large";
    CONTEXT_TOO_LARGE = PAYLOAD_TOO_LARGE, "context-too-large", "The context snapshot is too large";
    ARTIFACT_TOO_LARGE = PAYLOAD_TOO_LARGE, "artifact-too-large", "The artifact is too large";
    METADATA_TOO_LARGE = PAYLOAD_TOO_LARGE, "metadata-too-large", "The metadata is too large";
    INPUT_TOO_LARGE = PAYLOAD_TOO_LARGE, "input-too-large", "The question is too large";
    TOOL_RUN_TOO_LARGE = PAYLOAD_TOO_LARGE, "tool-run-too-large", "The run of a tool is too large";
    ASSISTANT_TOO_LARGE = PAYLOAD_TOO_LARGE, "assistant-too-large", "The assistant is too large";
    DOCUMENT_TOO_LARGE = PAYLOAD_TOO_LARGE, "document-too-large", "The document is too large";
    RANGE_NOT_SATISFIABLE = RANGE_NOT_SATISFIABLE, "range-not-satisfiable", "The content has no such range";
    UNSUPPORTED_MEDIA_TYPE = UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "The body has the wrong type";
    INVALID_REQUEST = UNPROCESSABLE_ENTITY, "invalid-request", "The request is not acceptable";
    TOO_MANY_REQUESTS = TOO_MANY_REQUESTS, "too-many-requests", "A quota is used up";
    DIFF_TOO_LARGE = UNPROCESSABLE_ENTITY, "diff-too-large", "The difference is too large";
    INTERNAL = INTERNAL_SERVER_ERROR, "internal", "Something went wrong here";
    UNSUPPORTED_SCHEMA_VERSION = INTERNAL_SERVER_ERROR, "unsupported-schema-version", "The data is newer than this service";
    CORRUPT_DOCUMENT = INTERNAL_SERVER_ERROR, "corrupt-document", "The stored data is damaged";
    STORE_REFUSED = INTERNAL_SERVER_ERROR, "store-refused", "The store refused the command";
    STORE_UNAVAILABLE = SERVICE_UNAVAILABLE, "store-unavailable", "The store cannot be reached";
    NOT_A_REPLICA_SET = SERVICE_UNAVAILABLE, "not-a-replica-set", "The database has no transactions";
    KEYS_UNAVAILABLE = SERVICE_UNAVAILABLE, "keys-unavailable", "The key of the token cannot be fetched";
    UPGRADE_PENDING = SERVICE_UNAVAILABLE, "upgrade-pending", "An upgrade is not finished";
    INDEXING_METADATA = SERVICE_UNAVAILABLE, "indexing-metadata", "The metadata are being indexed";
    OVERLOADED = SERVICE_UNAVAILABLE, "overloaded", "Too much is in progress";
    TOO_MANY_SUBSCRIBERS = SERVICE_UNAVAILABLE, "too-many-subscribers", "Too many listen already";
    DEADLINE_EXCEEDED = SERVICE_UNAVAILABLE, "deadline-exceeded", "The answer took too long";
    OUTCOME_UNKNOWN = GATEWAY_TIMEOUT, "outcome-unknown", "The write may or may not have happened";
}
