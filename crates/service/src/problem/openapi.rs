//! The problems that each route may return, for the OpenAPI document.
//!
//! A group names every problem of the routes that use it.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use utoipa::IntoResponses;
use utoipa::openapi::{Content, Ref, RefOr, Response, ResponseBuilder};

use super::ProblemKind as P;

type Responses = BTreeMap<String, RefOr<Response>>;

/// The problems of every route.
const ANY: [P; 12] = [
    P::UNAUTHENTICATED,
    P::FORBIDDEN_ORIGIN,
    P::INVALID_REQUEST,
    P::INTERNAL,
    P::UNSUPPORTED_SCHEMA_VERSION,
    P::CORRUPT_DOCUMENT,
    P::STORE_REFUSED,
    P::STORE_UNAVAILABLE,
    P::NOT_A_REPLICA_SET,
    P::KEYS_UNAVAILABLE,
    P::OVERLOADED,
    P::TOO_MANY_REQUESTS,
];

/// The further problems of a route below an app.
const IN_APP: [P; 4] =
    [P::INVALID_APP_ID, P::APP_DISABLED, P::FORBIDDEN_ROLE, P::FORBIDDEN_PERMISSION];

/// The further problems of a route to a wallet.
const IN_WALLET: [P; 2] = [P::FORBIDDEN_APP, P::FORBIDDEN_OWNER];

/// The further problems of a read.
const READ: [P; 1] = [P::DEADLINE_EXCEEDED];

/// The further problems of a write.
const WRITE: [P; 1] = [P::OUTCOME_UNKNOWN];

/// The further problems of a write that a lease may fence.
const FENCED: [P; 2] = [P::OUTCOME_UNKNOWN, P::FENCED];

/// The further problems of a route with a body.
const BODY: [P; 4] =
    [P::MALFORMED_JSON, P::BODY_TIMEOUT, P::BODY_TOO_LARGE, P::UNSUPPORTED_MEDIA_TYPE];

/// Declares groups of problems: the routes that use a group, its name, and its problems.
macro_rules! groups {
    ($($(#[$what:meta])* $group:ident => $responses:expr;)+) => {$(
        $(#[$what])*
        pub(crate) struct $group;

        impl IntoResponses for $group {
            fn responses() -> Responses {
                $responses
            }
        }
    )+};
}

groups! {
    /// A read of an app.
    AppProblems => describe(&[&READ, &[P::FORBIDDEN_APP]]);
    /// The creation of a chat.
    CreateProblems => describe(&[
        &WRITE,
        &BODY,
        &[P::FORBIDDEN_APP, P::FORBIDDEN_OWNER, P::CHAT_EXISTS, P::METADATA_TOO_LARGE],
    ]);
    /// The fork of a chat.
    ForkProblems => describe(&[
        &WRITE,
        &BODY,
        &[
            P::FORBIDDEN_OWNER,
            P::CHAT_NOT_FOUND,
            P::CHAT_EXISTS,
            P::METADATA_TOO_LARGE,
            P::UPGRADE_PENDING,
        ],
    ]);
    /// A read of a chat.
    ChatProblems => describe(&[&READ, &[P::CHAT_NOT_FOUND]]);
    /// A read of a history.
    HistoryProblems => describe(&[
        &[P::CHAT_NOT_FOUND, P::NOT_ACCEPTABLE, P::UNSETTLED_TOOL_CALLS],
    ]);
    /// The events of a chat.
    EventsProblems => describe(&[
        &[P::CHAT_NOT_FOUND, P::TOO_MANY_SUBSCRIBERS, P::DEADLINE_EXCEEDED],
    ]);
    /// The WebSocket of a chat.
    SocketProblems => describe(&[&[
        P::FORBIDDEN_OWNER,
        P::CHAT_NOT_FOUND,
        P::UPGRADE_REQUIRED,
        P::TOO_MANY_SUBSCRIBERS,
        P::DEADLINE_EXCEEDED,
    ]]);
    /// A change of the members of a chat.
    MemberProblems => describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND, P::FENCED, P::TOO_MANY_MEMBERS]]);
    /// A ticket to a chat.
    TicketProblems => describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND]]);
    /// A change of the status of a chat.
    StatusProblems => describe(&[&FENCED, &BODY, &[P::CHAT_NOT_FOUND, P::ILLEGAL_TRANSITION]]);
    /// An append of messages.
    AppendProblems => describe(&[
        &FENCED,
        &BODY,
        &[
            P::SEQUENCE_CONFLICT,
            P::CHAT_NOT_FOUND,
            P::CHAT_ENDED,
            P::EVENT_CONFLICT,
            P::MESSAGE_TOO_LARGE,
            P::BATCH_TOO_LARGE,
        ],
    ]);
    /// A turn.
    TurnProblems => describe(&[
        &FENCED,
        &BODY,
        &[
            P::CHAT_NOT_FOUND,
            P::CHAT_ENDED,
            P::TURN_CONFLICT,
            P::MESSAGE_TOO_LARGE,
            P::BATCH_TOO_LARGE,
        ],
    ]);
    /// The deletion of resume points.
    DeleteResumePointsProblems => describe(&[&FENCED, &[P::CHAT_NOT_FOUND]]);
    /// A read of a call stack.
    StackProblems => describe(&[
        &READ,
        &[P::CHAT_NOT_FOUND, P::STACK_NOT_FOUND, P::BROKEN_CALL_STACK],
    ]);
    /// A read of everything that is needed to resume a chat.
    ResumeProblems => describe(&[
        &READ,
        &[
            P::CHAT_NOT_FOUND,
            P::UNSETTLED_TOOL_CALLS,
            P::BATCH_TOO_LARGE,
        ],
    ]);
    /// The acquisition of a lease.
    AcquireLeaseProblems => describe(&[
        &WRITE,
        &BODY,
        &[P::CHAT_NOT_FOUND, P::CHAT_ENDED, P::FORBIDDEN_ROLE, P::BUSY],
    ]);
    /// The renewal of a lease.
    LeaseProblems => describe(&[
        &WRITE,
        &BODY,
        &[P::CHAT_NOT_FOUND, P::FORBIDDEN_ROLE, P::FENCED],
    ]);
    /// The release of a lease.
    ReleaseLeaseProblems => describe(&[&WRITE, &[P::CHAT_NOT_FOUND, P::FORBIDDEN_ROLE]]);
    /// A read of one message.
    MessageProblems => describe(&[&READ, &[P::CHAT_NOT_FOUND, P::MESSAGE_NOT_FOUND]]);
    /// A change to a message.
    UpdateMessageProblems => describe(&[
        &FENCED,
        &BODY,
        &[P::PRECONDITION_FAILED, P::SEQUENCE_CONFLICT, P::CHAT_NOT_FOUND, P::MESSAGE_NOT_FOUND, P::MESSAGE_TOO_LARGE],
    ]);
    /// The deletion of a message.
    DeleteMessageProblems => describe(&[&FENCED, &[P::PRECONDITION_FAILED, P::SEQUENCE_CONFLICT, P::CHAT_NOT_FOUND, P::MESSAGE_NOT_FOUND]]);
    /// The addition of a participant.
    JoinProblems => describe(&[
        &WRITE,
        &BODY,
        &[P::CHAT_NOT_FOUND, P::FORBIDDEN_OWNER, P::TOO_MANY_PARTICIPANTS],
    ]);
    /// The removal of a participant.
    LeaveProblems => describe(&[&WRITE, &[P::CHAT_NOT_FOUND, P::FORBIDDEN_OWNER]]);
    /// A recording of calls.
    RecordCallsProblems => describe(&[
        &WRITE,
        &BODY,
        &[P::CHAT_NOT_FOUND, P::CALL_CONFLICT, P::BATCH_TOO_LARGE],
    ]);
    /// An exchange.
    ExchangeProblems => describe(&[
        &FENCED,
        &BODY,
        &[
            P::CHAT_NOT_FOUND,
            P::CHAT_ENDED,
            P::EVENT_CONFLICT,
            P::CALL_CONFLICT,
            P::MESSAGE_TOO_LARGE,
            P::BATCH_TOO_LARGE,
        ],
    ]);
    /// The deletion of a call.
    DeleteCallProblems => describe(&[&FENCED, &[P::CHAT_NOT_FOUND]]);
    /// An input request.
    RequestInputProblems => describe(&[
        &FENCED,
        &BODY,
        &[
            P::CHAT_NOT_FOUND,
            P::CHAT_ENDED,
            P::INPUT_CONFLICT,
            P::TOO_MANY_INPUTS,
            P::METADATA_TOO_LARGE,
            P::INPUT_TOO_LARGE,
        ],
    ]);
    /// A read of an input request, which may wait for its answer.
    InputRequestProblems => describe(&[
        &READ,
        &[P::CHAT_NOT_FOUND, P::INPUT_NOT_FOUND, P::TOO_MANY_SUBSCRIBERS],
    ]);
    /// An answer to an input request.
    AnswerInputProblems => describe(&[
        &FENCED,
        &BODY,
        &[
            P::CHAT_NOT_FOUND,
            P::INPUT_NOT_FOUND,
            P::INPUT_CLOSED,
            P::TOOL_CALL_MISMATCH,
            P::EVENT_CONFLICT,
            P::MESSAGE_TOO_LARGE,
        ],
    ]);
    /// An input of a user.
    SubmitProblems => describe(&[
        &FENCED,
        &BODY,
        &[
            P::FORBIDDEN_APP,
            P::FORBIDDEN_OWNER,
            P::CHAT_NOT_FOUND,
            P::CHAT_ENDED,
            P::INPUT_NOT_FOUND,
            P::INPUT_CLOSED,
            P::TOOL_CALL_MISMATCH,
            P::EVENT_CONFLICT,
            P::MESSAGE_TOO_LARGE,
        ],
    ]);
    /// The cancellation of an input request.
    CancelInputProblems => describe(&[
        &FENCED,
        &BODY,
        &[P::CHAT_NOT_FOUND, P::INPUT_NOT_FOUND, P::INPUT_CLOSED],
    ]);
    /// A write of a context snapshot.
    ContextProblems => describe(&[&FENCED, &BODY, &[P::PRECONDITION_FAILED, P::CHAT_NOT_FOUND, P::CONTEXT_TOO_LARGE]]);
    /// A read of a version of the context snapshot.
    ContextVersionProblems => describe(&[
        &READ,
        &[P::CHAT_NOT_FOUND, P::CONTEXT_VERSION_NOT_FOUND],
    ]);
    /// A comparison of two versions of a context snapshot.
    ContextDiffProblems => describe(&[&READ, &[P::CHAT_NOT_FOUND, P::CONTEXT_VERSION_NOT_FOUND, P::DIFF_TOO_LARGE]]);
    /// The restoring of a version of the context snapshot.
    RestoreContextProblems => describe(&[
        &FENCED,
        &BODY,
        &[P::PRECONDITION_FAILED, P::CHAT_NOT_FOUND, P::CONTEXT_VERSION_NOT_FOUND],
    ]);
    /// A write of an artifact.
    PutArtifactProblems => describe(&[&FENCED, &BODY, &[P::PRECONDITION_FAILED, P::CHAT_NOT_FOUND, P::ARTIFACT_TOO_LARGE]]);
    /// The removal of an artifact.
    DeleteArtifactProblems => describe(&[&FENCED, &[P::PRECONDITION_FAILED, P::CHAT_NOT_FOUND]]);
    /// A read of the registry.
    OperatorProblems => describe_operator(&[&READ]);
    /// A read of an app in the registry.
    AppNotFoundProblems => describe_operator(&[&READ, &[P::INVALID_APP_ID, P::APP_NOT_FOUND]]);
    /// The registration of an app.
    RegisterAppProblems => describe_operator(&[&WRITE, &BODY, &[P::INVALID_APP_ID]]);
    /// A change to an app in the registry.
    ChangeAppProblems => describe_operator(&[&WRITE, &BODY, &[P::INVALID_APP_ID, P::APP_NOT_FOUND]]);
    /// A read of a wallet.
    WalletProblems => describe(&[&READ, &IN_WALLET, &[P::WALLET_NOT_FOUND]]);
    /// The creation of a wallet.
    EnsureWalletProblems => describe(&[&WRITE, &BODY, &IN_WALLET, &[P::FORBIDDEN_ROLE]]);
    /// A credit.
    CreditProblems => describe(&[
        &WRITE,
        &BODY,
        &IN_WALLET,
        &[P::FORBIDDEN_ROLE, P::WALLET_NOT_FOUND, P::ENTRY_CONFLICT, P::BALANCE_TOO_LARGE],
    ]);
    /// A debit.
    DebitProblems => describe(&[&WRITE, &BODY, &IN_WALLET, &[P::INSUFFICIENT_TOKENS, P::ENTRY_CONFLICT]]);
    /// A read of a balance.
    TokenBalanceProblems => describe(&[&READ, &IN_WALLET]);
    /// A read of the statistics of an app.
    StatsProblems => describe(&[&READ, &[P::FORBIDDEN_APP, P::FORBIDDEN_ROLE]]);
    /// A read of the statistics of all apps.
    AllStatsProblems => describe_operator(&[&READ]);
    /// A step of a sign-in.
    SignInProblems => by_status(&[&WRITE[..], &[P::SIGN_IN_FAILED, P::NO_SIGN_IN], &ANY].concat());
    /// A read of the session of a browser.
    SessionProblems => by_status(&[&READ[..], &ANY].concat());
    /// A read of the metrics.
    MetricsProblems => describe_operator(&[&READ]);
    /// A probe.
    HealthProblems => by_status(&[P::INTERNAL]);
}

/// Describes the problems of a route below an app.
fn describe(sets: &[&[P]]) -> Responses {
    by_status(&[&sets.concat(), &IN_APP[..], &ANY].concat())
}

/// Describes the problems of a route for operators.
fn describe_operator(sets: &[&[P]]) -> Responses {
    by_status(&[&sets.concat(), &[P::FORBIDDEN_ROLE][..], &ANY].concat())
}

/// Describes kinds of problem, grouped by status.
fn by_status(kinds: &[P]) -> Responses {
    let mut by_status: BTreeMap<u16, Vec<P>> = BTreeMap::new();
    for kind in kinds {
        let status = kind.status.as_u16();
        by_status.entry(status).or_default().push(*kind);
    }
    let responses = by_status.into_iter();
    responses.map(|(status, kinds)| (status.to_string(), response(&kinds).into())).collect()
}

fn response(kinds: &[P]) -> Response {
    let codes: Vec<_> = kinds.iter().map(|kind| format!("`{}`", kind.code)).collect();
    let mut content = Content::new(Some(Ref::from_schema_name("Problem")));
    content.examples.extend(kinds.iter().map(|kind| {
        let location = format!("#/components/examples/{}", kind.code);
        (kind.code.to_owned(), RefOr::Ref(Ref::new(location)))
    }));
    ResponseBuilder::new()
        .description(codes.join(", "))
        .content("application/problem+json", content)
        .build()
}

/// Returns an example of each problem that is used, by its code.
pub(crate) fn examples(is_used: impl Fn(&str) -> bool) -> Value {
    let used = P::ALL.into_iter().filter(|kind| is_used(kind.code));
    used.map(|kind| (kind.code.to_owned(), example(kind))).collect()
}

fn example(kind: P) -> Value {
    let problem = json!({
        "type": kind.uri(),
        "code": kind.code,
        "title": kind.title,
        "status": kind.status.as_u16(),
        "detail": "what was wrong with this request, and what to do",
        "http_request_id": "req_0199a3c2f0f47a3e8f1d2c3b4a596877",
    });
    json!({"value": problem})
}
