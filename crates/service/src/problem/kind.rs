use axum::http::StatusCode;

/// A kind of problem: its stable code, its title for people, and its HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ProblemKind {
    pub(crate) code: &'static str,
    pub(crate) title: &'static str,
    pub(crate) status: StatusCode,
}

const fn kind(status: StatusCode, code: &'static str, title: &'static str) -> ProblemKind {
    ProblemKind { code, title, status }
}

impl ProblemKind {
    /// Returns the address of the page about this kind, relative to that of the service.
    pub(crate) fn uri(self) -> String {
        format!("/problems/{}", self.code)
    }
}

#[rustfmt::skip]
impl ProblemKind {
    /// Every kind.
    pub(crate) const ALL: [Self; 68] = [
        Self::PRECONDITION_FAILED, Self::SEQUENCE_CONFLICT, Self::SIGN_IN_FAILED, Self::NO_SIGN_IN, Self::DIFF_TOO_LARGE, Self::TOO_MANY_REQUESTS,
        Self::MALFORMED_JSON, Self::INVALID_APP_ID, Self::UNAUTHENTICATED, Self::FORBIDDEN_APP,
        Self::FORBIDDEN_ORIGIN, Self::FORBIDDEN_OWNER, Self::FORBIDDEN_PERMISSION, Self::TOO_MANY_MEMBERS, Self::NO_SUCH_ROUTE, Self::CHAT_NOT_FOUND, Self::MESSAGE_NOT_FOUND,
        Self::METHOD_NOT_ALLOWED, Self::NOT_ACCEPTABLE, Self::UPGRADE_REQUIRED, Self::CHAT_EXISTS, Self::CHAT_ENDED, Self::EVENT_CONFLICT, Self::CALL_CONFLICT, Self::CALL_NOT_FOUND,
        Self::INSUFFICIENT_TOKENS, Self::APP_DISABLED, Self::FORBIDDEN_ROLE, Self::APP_NOT_FOUND, Self::WALLET_NOT_FOUND,
        Self::ENTRY_CONFLICT, Self::BALANCE_TOO_LARGE, Self::TOO_MANY_PARTICIPANTS, Self::BUSY, Self::FENCED, Self::TURN_CONFLICT, Self::BROKEN_CALL_STACK, Self::STACK_NOT_FOUND,
        Self::ILLEGAL_TRANSITION, Self::BODY_TOO_LARGE, Self::MESSAGE_TOO_LARGE, Self::BATCH_TOO_LARGE,
        Self::CONTEXT_TOO_LARGE, Self::ARTIFACT_TOO_LARGE, Self::METADATA_TOO_LARGE, Self::UNSUPPORTED_MEDIA_TYPE,
        Self::INVALID_REQUEST, Self::BODY_TIMEOUT, Self::INTERNAL, Self::UNSUPPORTED_SCHEMA_VERSION, Self::CORRUPT_DOCUMENT,
        Self::CONTEXT_VERSION_NOT_FOUND, Self::INPUT_NOT_FOUND, Self::INPUT_CONFLICT, Self::INPUT_CLOSED, Self::TOOL_CALL_MISMATCH, Self::UNSETTLED_TOOL_CALLS, Self::TOO_MANY_INPUTS, Self::INPUT_TOO_LARGE,
        Self::STORE_REFUSED, Self::STORE_UNAVAILABLE, Self::NOT_A_REPLICA_SET, Self::KEYS_UNAVAILABLE, Self::UPGRADE_PENDING, Self::OVERLOADED, Self::TOO_MANY_SUBSCRIBERS, Self::DEADLINE_EXCEEDED, Self::OUTCOME_UNKNOWN,
    ];

    pub(crate) const MALFORMED_JSON: Self = kind(StatusCode::BAD_REQUEST, "malformed-json", "The body is not JSON");
    pub(crate) const INVALID_APP_ID: Self = kind(StatusCode::BAD_REQUEST, "invalid-app-id", "Not an app id");
    pub(crate) const UNAUTHENTICATED: Self = kind(StatusCode::UNAUTHORIZED, "unauthenticated", "A valid token is needed");
    pub(crate) const INSUFFICIENT_TOKENS: Self = kind(StatusCode::PAYMENT_REQUIRED, "insufficient-tokens", "The wallet holds too few tokens");
    pub(crate) const APP_DISABLED: Self = kind(StatusCode::FORBIDDEN, "app-disabled", "The app is disabled");
    pub(crate) const FORBIDDEN_APP: Self = kind(StatusCode::FORBIDDEN, "forbidden-app", "The token is not for this app");
    pub(crate) const FORBIDDEN_ORIGIN: Self = kind(StatusCode::FORBIDDEN, "forbidden-origin", "The page or host is not accepted");
    pub(crate) const FORBIDDEN_OWNER: Self = kind(StatusCode::FORBIDDEN, "forbidden-owner", "Not the caller's own");
    pub(crate) const FORBIDDEN_PERMISSION: Self = kind(StatusCode::FORBIDDEN, "forbidden-permission", "The caller may read the chat, and not do this");
    pub(crate) const SIGN_IN_FAILED: Self = kind(StatusCode::FORBIDDEN, "sign-in-failed", "The person was not signed in");
    pub(crate) const NO_SIGN_IN: Self = kind(StatusCode::NOT_FOUND, "no-sign-in", "People cannot sign in here");
    pub(crate) const FORBIDDEN_ROLE: Self = kind(StatusCode::FORBIDDEN, "forbidden-role", "The token has another role");
    pub(crate) const NO_SUCH_ROUTE: Self = kind(StatusCode::NOT_FOUND, "no-such-route", "No such route");
    pub(crate) const APP_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "app-not-found", "No such app");
    pub(crate) const CHAT_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "chat-not-found", "No such chat");
    pub(crate) const CALL_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "call-not-found", "No such call");
    pub(crate) const MESSAGE_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "message-not-found", "No such message");
    pub(crate) const CONTEXT_VERSION_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "context-version-not-found", "No such version of the context snapshot");
    pub(crate) const WALLET_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "wallet-not-found", "No such wallet");
    pub(crate) const METHOD_NOT_ALLOWED: Self = kind(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "The route has no such method");
    pub(crate) const NOT_ACCEPTABLE: Self = kind(StatusCode::NOT_ACCEPTABLE, "not-acceptable", "No acceptable media type");
    pub(crate) const UPGRADE_REQUIRED: Self = kind(StatusCode::UPGRADE_REQUIRED, "upgrade-required", "The route speaks WebSocket");
    pub(crate) const BODY_TIMEOUT: Self = kind(StatusCode::REQUEST_TIMEOUT, "body-timeout", "The body did not arrive in time");
    pub(crate) const CHAT_EXISTS: Self = kind(StatusCode::CONFLICT, "chat-exists", "The chat exists already");
    pub(crate) const CHAT_ENDED: Self = kind(StatusCode::CONFLICT, "chat-ended", "The chat takes no more messages");
    pub(crate) const EVENT_CONFLICT: Self = kind(StatusCode::CONFLICT, "event-conflict", "The event id belongs to another message");
    pub(crate) const CALL_CONFLICT: Self = kind(StatusCode::CONFLICT, "call-conflict", "The call id belongs to another call");
    pub(crate) const ENTRY_CONFLICT: Self = kind(StatusCode::CONFLICT, "entry-conflict", "The entry id belongs to another change");
    pub(crate) const BALANCE_TOO_LARGE: Self = kind(StatusCode::CONFLICT, "balance-too-large", "The wallet cannot hold so much");
    pub(crate) const INPUT_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "input-not-found", "No such input request");
    pub(crate) const INPUT_CONFLICT: Self = kind(StatusCode::CONFLICT, "input-conflict", "The request id belongs to another question");
    pub(crate) const INPUT_CLOSED: Self = kind(StatusCode::CONFLICT, "input-closed", "The input request takes no more answers");
    pub(crate) const TOOL_CALL_MISMATCH: Self = kind(StatusCode::CONFLICT, "tool-call-mismatch", "The answer is for another tool call");
    pub(crate) const UNSETTLED_TOOL_CALLS: Self = kind(StatusCode::CONFLICT, "unsettled-tool-calls", "Tool calls have no results");
    pub(crate) const TOO_MANY_INPUTS: Self = kind(StatusCode::CONFLICT, "too-many-inputs", "Too many pending input requests");
    pub(crate) const TOO_MANY_MEMBERS: Self = kind(StatusCode::CONFLICT, "too-many-members", "The chat has as many members as it may have");
    pub(crate) const TOO_MANY_PARTICIPANTS: Self = kind(StatusCode::CONFLICT, "too-many-participants", "The chat has as many participants as it may have");
    pub(crate) const BUSY: Self = kind(StatusCode::CONFLICT, "busy", "Another owner holds the lease");
    pub(crate) const FENCED: Self = kind(StatusCode::CONFLICT, "fenced", "The lease is gone");
    pub(crate) const TURN_CONFLICT: Self = kind(StatusCode::CONFLICT, "turn-conflict", "The request id belongs to another turn");
    pub(crate) const BROKEN_CALL_STACK: Self = kind(StatusCode::CONFLICT, "broken-call-stack", "The call stack has no root");
    pub(crate) const STACK_NOT_FOUND: Self = kind(StatusCode::NOT_FOUND, "stack-not-found", "No such call");
    pub(crate) const ILLEGAL_TRANSITION: Self = kind(StatusCode::CONFLICT, "illegal-transition", "The chat cannot take that status");
    pub(crate) const SEQUENCE_CONFLICT: Self = kind(StatusCode::CONFLICT, "sequence-conflict", "The chat has another number of messages");
    pub(crate) const PRECONDITION_FAILED: Self = kind(StatusCode::PRECONDITION_FAILED, "precondition-failed", "The record has changed");
    pub(crate) const BODY_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "body-too-large", "The body is too large");
    pub(crate) const MESSAGE_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "message-too-large", "The message is too large");
    pub(crate) const BATCH_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "batch-too-large", "The batch is too large");
    pub(crate) const CONTEXT_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "context-too-large", "The context snapshot is too large");
    pub(crate) const ARTIFACT_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "artifact-too-large", "The artifact is too large");
    pub(crate) const METADATA_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "metadata-too-large", "The metadata is too large");
    pub(crate) const INPUT_TOO_LARGE: Self = kind(StatusCode::PAYLOAD_TOO_LARGE, "input-too-large", "The question is too large");
    pub(crate) const UNSUPPORTED_MEDIA_TYPE: Self = kind(StatusCode::UNSUPPORTED_MEDIA_TYPE, "unsupported-media-type", "The body has the wrong type");
    pub(crate) const INVALID_REQUEST: Self = kind(StatusCode::UNPROCESSABLE_ENTITY, "invalid-request", "The request is not acceptable");
    pub(crate) const TOO_MANY_REQUESTS: Self = kind(StatusCode::TOO_MANY_REQUESTS, "too-many-requests", "A quota is used up");
    pub(crate) const DIFF_TOO_LARGE: Self = kind(StatusCode::UNPROCESSABLE_ENTITY, "diff-too-large", "The difference is too large");
    pub(crate) const INTERNAL: Self = kind(StatusCode::INTERNAL_SERVER_ERROR, "internal", "Something went wrong here");
    pub(crate) const UNSUPPORTED_SCHEMA_VERSION: Self = kind(StatusCode::INTERNAL_SERVER_ERROR, "unsupported-schema-version", "The data is newer than this service");
    pub(crate) const CORRUPT_DOCUMENT: Self = kind(StatusCode::INTERNAL_SERVER_ERROR, "corrupt-document", "The stored data is damaged");
    pub(crate) const STORE_REFUSED: Self = kind(StatusCode::INTERNAL_SERVER_ERROR, "store-refused", "The store refused the command");
    pub(crate) const STORE_UNAVAILABLE: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "store-unavailable", "The store cannot be reached");
    pub(crate) const NOT_A_REPLICA_SET: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "not-a-replica-set", "The database has no transactions");
    pub(crate) const KEYS_UNAVAILABLE: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "keys-unavailable", "The key of the token cannot be fetched");
    pub(crate) const UPGRADE_PENDING: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "upgrade-pending", "An upgrade is not finished");
    pub(crate) const OVERLOADED: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "overloaded", "Too much is in progress");
    pub(crate) const TOO_MANY_SUBSCRIBERS: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "too-many-subscribers", "Too many listen already");
    pub(crate) const DEADLINE_EXCEEDED: Self = kind(StatusCode::SERVICE_UNAVAILABLE, "deadline-exceeded", "The answer took too long");
    pub(crate) const OUTCOME_UNKNOWN: Self = kind(StatusCode::GATEWAY_TIMEOUT, "outcome-unknown", "The write may or may not have happened");
}
