//! Which problems a route may answer with, for the description of the API.
//!
//! Each group names every problem of the routes that use it.

use std::collections::BTreeMap;

use serde_json::json;
use utoipa::openapi::example::{Example, ExampleBuilder};
use utoipa::openapi::{Content, OpenApi, Ref, RefOr, Response, ResponseBuilder};
use utoipa::{IntoResponses, Modify};

use super::ProblemKind as P;

type Responses = BTreeMap<String, RefOr<Response>>;

/// What every route may answer.
const ANY: [P; 8] = [
    P::UNAUTHENTICATED,
    P::FORBIDDEN_ORIGIN,
    P::INVALID_REQUEST,
    P::INTERNAL,
    P::UNSUPPORTED_SCHEMA_VERSION,
    P::CORRUPT_DOCUMENT,
    P::STORE_REFUSED,
    P::STORE_UNAVAILABLE,
];

/// What a route below an app may answer besides.
const IN_APP: [P; 2] = [P::INVALID_APP_ID, P::APP_DISABLED];

/// What a route to a wallet may answer besides.
const IN_WALLET: [P; 2] = [P::FORBIDDEN_APP, P::FORBIDDEN_OWNER];

/// What a read may answer besides.
const READ: [P; 1] = [P::DEADLINE_EXCEEDED];

/// What a write may answer besides.
const WRITE: [P; 1] = [P::OUTCOME_UNKNOWN];

/// What a route with a body may answer besides.
const BODY: [P; 3] = [P::MALFORMED_JSON, P::BODY_TOO_LARGE, P::UNSUPPORTED_MEDIA_TYPE];

/// A read of an app.
pub(crate) struct AppProblems;

impl IntoResponses for AppProblems {
    fn responses() -> Responses {
        describe(&[&READ, &[P::FORBIDDEN_APP]])
    }
}

/// The creation of a chat.
pub(crate) struct CreateProblems;

impl IntoResponses for CreateProblems {
    fn responses() -> Responses {
        describe(&[
            &WRITE,
            &BODY,
            &[P::FORBIDDEN_APP, P::FORBIDDEN_OWNER, P::CHAT_EXISTS, P::METADATA_TOO_LARGE],
        ])
    }
}

/// A read of a chat.
pub(crate) struct ChatProblems;

impl IntoResponses for ChatProblems {
    fn responses() -> Responses {
        describe(&[&READ, &[P::CHAT_NOT_FOUND]])
    }
}

/// A read of a chat that comes in several media types.
pub(crate) struct HistoryProblems;

impl IntoResponses for HistoryProblems {
    fn responses() -> Responses {
        describe(&[&[P::CHAT_NOT_FOUND, P::NOT_ACCEPTABLE]])
    }
}

/// The events of a chat.
pub(crate) struct EventsProblems;

impl IntoResponses for EventsProblems {
    fn responses() -> Responses {
        describe(&[&[P::CHAT_NOT_FOUND, P::TOO_MANY_SUBSCRIBERS, P::DEADLINE_EXCEEDED]])
    }
}

/// A move of a chat to another status.
pub(crate) struct StatusProblems;

impl IntoResponses for StatusProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND, P::ILLEGAL_TRANSITION]])
    }
}

/// An append of messages.
pub(crate) struct AppendProblems;

impl IntoResponses for AppendProblems {
    fn responses() -> Responses {
        describe(&[
            &WRITE,
            &BODY,
            &[
                P::CHAT_NOT_FOUND,
                P::CHAT_ENDED,
                P::EVENT_CONFLICT,
                P::MESSAGE_TOO_LARGE,
                P::BATCH_TOO_LARGE,
                P::OVERLOADED,
            ],
        ])
    }
}

/// A read of one message.
pub(crate) struct MessageProblems;

impl IntoResponses for MessageProblems {
    fn responses() -> Responses {
        describe(&[&READ, &[P::CHAT_NOT_FOUND, P::MESSAGE_NOT_FOUND]])
    }
}

/// A change to a message.
pub(crate) struct UpdateMessageProblems;

impl IntoResponses for UpdateMessageProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND, P::MESSAGE_NOT_FOUND, P::MESSAGE_TOO_LARGE]])
    }
}

/// The deletion of a message.
pub(crate) struct DeleteMessageProblems;

impl IntoResponses for DeleteMessageProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &[P::CHAT_NOT_FOUND, P::MESSAGE_NOT_FOUND]])
    }
}

/// A recording of calls.
pub(crate) struct RecordCallsProblems;

impl IntoResponses for RecordCallsProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND, P::CALL_CONFLICT, P::BATCH_TOO_LARGE]])
    }
}

/// An exchange.
pub(crate) struct ExchangeProblems;

impl IntoResponses for ExchangeProblems {
    fn responses() -> Responses {
        describe(&[
            &WRITE,
            &BODY,
            &[
                P::CHAT_NOT_FOUND,
                P::CHAT_ENDED,
                P::EVENT_CONFLICT,
                P::CALL_CONFLICT,
                P::MESSAGE_TOO_LARGE,
                P::BATCH_TOO_LARGE,
            ],
        ])
    }
}

/// The deletion of a call.
pub(crate) struct DeleteCallProblems;

impl IntoResponses for DeleteCallProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &[P::CHAT_NOT_FOUND, P::CALL_NOT_FOUND]])
    }
}

/// A write of a context snapshot.
pub(crate) struct ContextProblems;

impl IntoResponses for ContextProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND, P::CONTEXT_TOO_LARGE]])
    }
}

/// A write of an artifact.
pub(crate) struct PutArtifactProblems;

impl IntoResponses for PutArtifactProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &[P::CHAT_NOT_FOUND, P::ARTIFACT_TOO_LARGE]])
    }
}

/// The removal of an artifact.
pub(crate) struct DeleteArtifactProblems;

impl IntoResponses for DeleteArtifactProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &[P::CHAT_NOT_FOUND]])
    }
}

/// A read of the registry.
pub(crate) struct OperatorProblems;

impl IntoResponses for OperatorProblems {
    fn responses() -> Responses {
        describe_operator(&[&READ])
    }
}

/// A read of an app in the registry.
pub(crate) struct AppNotFoundProblems;

impl IntoResponses for AppNotFoundProblems {
    fn responses() -> Responses {
        describe_operator(&[&READ, &[P::INVALID_APP_ID, P::APP_NOT_FOUND]])
    }
}

/// The registration of an app.
pub(crate) struct RegisterAppProblems;

impl IntoResponses for RegisterAppProblems {
    fn responses() -> Responses {
        describe_operator(&[&WRITE, &BODY, &[P::INVALID_APP_ID]])
    }
}

/// A change to an app in the registry.
pub(crate) struct ChangeAppProblems;

impl IntoResponses for ChangeAppProblems {
    fn responses() -> Responses {
        describe_operator(&[&WRITE, &BODY, &[P::INVALID_APP_ID, P::APP_NOT_FOUND]])
    }
}

/// A read of a wallet.
pub(crate) struct WalletProblems;

impl IntoResponses for WalletProblems {
    fn responses() -> Responses {
        describe(&[&READ, &IN_WALLET, &[P::WALLET_NOT_FOUND]])
    }
}

/// The creation of a wallet.
pub(crate) struct EnsureWalletProblems;

impl IntoResponses for EnsureWalletProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &IN_WALLET, &[P::FORBIDDEN_ROLE]])
    }
}

/// A credit.
pub(crate) struct CreditProblems;

impl IntoResponses for CreditProblems {
    fn responses() -> Responses {
        describe(&[
            &WRITE,
            &BODY,
            &IN_WALLET,
            &[P::FORBIDDEN_ROLE, P::WALLET_NOT_FOUND, P::ENTRY_CONFLICT, P::BALANCE_TOO_LARGE],
        ])
    }
}

/// A debit.
pub(crate) struct DebitProblems;

impl IntoResponses for DebitProblems {
    fn responses() -> Responses {
        describe(&[&WRITE, &BODY, &IN_WALLET, &[P::INSUFFICIENT_TOKENS, P::ENTRY_CONFLICT]])
    }
}

/// A read of what a user has left.
pub(crate) struct TokenBalanceProblems;

impl IntoResponses for TokenBalanceProblems {
    fn responses() -> Responses {
        describe(&[&READ, &IN_WALLET])
    }
}

/// A read of what the workflows of an app do.
pub(crate) struct StatsProblems;

impl IntoResponses for StatsProblems {
    fn responses() -> Responses {
        describe(&[&READ, &[P::FORBIDDEN_APP, P::FORBIDDEN_ROLE]])
    }
}

/// A read of what the workflows of all apps do.
pub(crate) struct AllStatsProblems;

impl IntoResponses for AllStatsProblems {
    fn responses() -> Responses {
        describe_operator(&[&READ])
    }
}

/// A read of the metrics.
pub(crate) struct MetricsProblems;

impl IntoResponses for MetricsProblems {
    fn responses() -> Responses {
        by_status(&[P::UNAUTHENTICATED, P::FORBIDDEN_ROLE, P::FORBIDDEN_ORIGIN, P::INTERNAL])
    }
}

/// Describes what a route below an app may answer.
fn describe(sets: &[&[P]]) -> Responses {
    by_status(&[&sets.concat(), &IN_APP[..], &ANY].concat())
}

/// Describes what a route of operators may answer.
fn describe_operator(sets: &[&[P]]) -> Responses {
    by_status(&[&sets.concat(), &[P::FORBIDDEN_ROLE][..], &ANY].concat())
}

/// Describes kinds of problem, those of one status together.
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
    let slugs: Vec<_> = kinds.iter().map(|kind| format!("`{}`", kind.slug)).collect();
    let mut content = Content::new(Some(Ref::from_schema_name("Problem")));
    content.examples.extend(kinds.iter().map(|kind| {
        let place = format!("#/components/examples/{}", kind.slug);
        (kind.slug.to_owned(), RefOr::Ref(Ref::new(place)))
    }));
    ResponseBuilder::new()
        .description(slugs.join(", "))
        .content("application/problem+json", content)
        .build()
}

/// Adds the problems themselves to the description, once.
pub(crate) struct ProblemExamples;

impl Modify for ProblemExamples {
    fn modify(&self, document: &mut OpenApi) {
        let components = document.components.get_or_insert_default();
        let examples = P::ALL.map(|kind| (kind.slug.to_owned(), example(kind).into()));
        components.examples.extend(examples);
    }
}

fn example(kind: P) -> Example {
    let problem = json!({
        "type": kind.slug,
        "title": kind.title,
        "status": kind.status.as_u16(),
        "detail": "what happened this time",
        "request_id": "req_0199a3c2f0f47a3e8f1d2c3b4a596877",
    });
    ExampleBuilder::new().value(Some(problem)).build()
}
