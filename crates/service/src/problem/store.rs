use std::time::Duration;

use persistence::StoreError;
use records::{Invalid, InvalidKind, Item, Location, SizeLimit};
use resume::call_stack::CallStackError;

use super::{Conflict, Problem, ProblemKind, Shortfall};

/// When to repeat a call that waits for an operator, who must finish an upgrade or configure the database.
const OPERATOR_RETRY: Duration = Duration::from_mins(1);

/// When to repeat a list by a key of the metadata that is new.
const INDEXING_RETRY: Duration = Duration::from_secs(5);

/// How long to wait before repeating a write whose outcome is unknown.
pub(crate) const UNKNOWN_RETRY: Duration = Duration::from_secs(1);

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        if let Some(kind) = kind_of(&error) {
            return Self::new(kind, error.to_string());
        }
        let detail = error.to_string();
        match error {
            StoreError::LeaseHeld { lease, .. } => {
                let mut problem = Self::new(ProblemKind::BUSY, detail);
                problem.0.holder = Some(Box::new((*lease).into()));
                problem
            }
            StoreError::EventConflict { event_id, sequence, index, .. } => {
                let location = Location::from("/event_id").below(Item::Message(index));
                let mut problem = Self::new(ProblemKind::EVENT_CONFLICT, detail)
                    .at(location, format!("belongs to message {sequence}"));
                problem.0.conflict = Some(Conflict { event_id, sequence });
                problem
            }
            StoreError::CallConflict { index, .. } => {
                let location = Location::from("/call_id").below(Item::Call(index));
                let other = "belongs to a call that was recorded with another body";
                Self::new(ProblemKind::CALL_CONFLICT, detail).at(location, other)
            }
            StoreError::ToolRunConflict { index, .. } => {
                let location = Location::from("/run_id").below(Item::ToolRun(index));
                let other = "belongs to a run that was recorded with another body";
                Self::new(ProblemKind::TOOL_RUN_CONFLICT, detail).at(location, other)
            }
            StoreError::TurnConflict { .. } => Self::new(ProblemKind::TURN_CONFLICT, detail)
                .at("/request_id", "belongs to another turn"),
            StoreError::InputConflict { .. } => Self::new(ProblemKind::INPUT_CONFLICT, detail)
                .at("/request_id", "belongs to another question"),
            StoreError::EntryConflict { kind, amount, .. } => {
                Self::new(ProblemKind::ENTRY_CONFLICT, detail)
                    .at("/entry_id", format!("belongs to a {kind} of {amount} tokens"))
            }
            StoreError::SequenceConflict { actual, .. } => {
                let mut problem = Self::new(ProblemKind::SEQUENCE_CONFLICT, detail);
                problem.0.last_sequence = Some(actual);
                problem
            }
            StoreError::InputClosed(request) => {
                let mut problem = Self::new(ProblemKind::INPUT_CLOSED, detail);
                problem.0.input_request = Some(Box::new((*request).into()));
                problem
            }
            StoreError::ToolCallMismatch { bound_to, .. } => {
                Self::new(ProblemKind::TOOL_CALL_MISMATCH, detail)
                    .at("/tool_call", expected_tool_call(bound_to.as_deref()))
            }
            StoreError::InsufficientTokens { balance, amount, .. } => {
                let mut problem = Self::new(ProblemKind::INSUFFICIENT_TOKENS, detail);
                problem.0.shortfall = Some(Shortfall { balance, amount });
                problem
            }
            StoreError::NotAReplicaSet => {
                Self::new(ProblemKind::NOT_A_REPLICA_SET, detail).with_retry_after(OPERATOR_RETRY)
            }
            StoreError::UpgradePending { .. } => {
                Self::new(ProblemKind::UPGRADE_PENDING, detail).with_retry_after(OPERATOR_RETRY)
            }
            StoreError::IndexingMetadata(_) => {
                Self::new(ProblemKind::INDEXING_METADATA, detail).with_retry_after(INDEXING_RETRY)
            }
            StoreError::Invalid(invalid) => invalid.into(),
            other => store_failure(other),
        }
    }
}

/// Returns the kind of an error whose message says everything; `None` for all others.
fn kind_of(error: &StoreError) -> Option<ProblemKind> {
    Some(match error {
        StoreError::ChatNotFound(_) => ProblemKind::CHAT_NOT_FOUND,
        StoreError::MessageNotFound { .. } => ProblemKind::MESSAGE_NOT_FOUND,
        StoreError::InputNotFound { .. } => ProblemKind::INPUT_NOT_FOUND,
        StoreError::AppNotFound(_) => ProblemKind::APP_NOT_FOUND,
        StoreError::ErasureNotFound(_) => ProblemKind::ERASURE_NOT_FOUND,
        StoreError::WalletNotFound(_) => ProblemKind::WALLET_NOT_FOUND,
        StoreError::AssistantNotFound(_) => ProblemKind::ASSISTANT_NOT_FOUND,
        StoreError::AssistantTaken(_) => ProblemKind::ASSISTANT_TAKEN,
        StoreError::DocumentNotFound(_) => ProblemKind::DOCUMENT_NOT_FOUND,
        StoreError::DocumentTaken(_) => ProblemKind::DOCUMENT_TAKEN,
        StoreError::AppendConflict(_) => ProblemKind::APPEND_CONFLICT,
        StoreError::StreamNotFound(_) => ProblemKind::STREAM_NOT_FOUND,
        StoreError::StreamRefused { .. } => ProblemKind::STREAM_CONFLICT,
        StoreError::Forbidden { .. }
        | StoreError::AssistantForbidden { .. }
        | StoreError::DocumentForbidden { .. } => ProblemKind::FORBIDDEN_PERMISSION,
        StoreError::ChatExists(_) => ProblemKind::CHAT_EXISTS,
        StoreError::ChatHeld(_) => ProblemKind::CHAT_HELD,
        StoreError::ChatEnded { .. } => ProblemKind::CHAT_ENDED,
        StoreError::Fenced { .. } => ProblemKind::FENCED,
        StoreError::Changed { .. }
        | StoreError::AssistantChanged(_)
        | StoreError::DocumentChanged(_)
        | StoreError::DocumentOffset { .. } => ProblemKind::PRECONDITION_FAILED,
        StoreError::IllegalTransition { .. } => ProblemKind::ILLEGAL_TRANSITION,
        StoreError::TooManyParticipants(_) => ProblemKind::TOO_MANY_PARTICIPANTS,
        StoreError::TooManyMembers(_) => ProblemKind::TOO_MANY_MEMBERS,
        StoreError::TooManyRevocations => ProblemKind::TOO_MANY_REVOCATIONS,
        StoreError::TooManyInputs(_) => ProblemKind::TOO_MANY_INPUTS,
        StoreError::BalanceTooLarge { .. } => ProblemKind::BALANCE_TOO_LARGE,
        _ => return None,
    })
}

fn expected_tool_call(bound_to: Option<&str>) -> String {
    match bound_to {
        Some(id) => format!("must name call {id} with the name and arguments of the input request"),
        None => "must be omitted: the input request is not bound to a tool call".to_owned(),
    }
}

impl From<CallStackError> for Problem {
    fn from(error: CallStackError) -> Self {
        let kind = match error {
            CallStackError::Unknown(_) => ProblemKind::STACK_NOT_FOUND,
            CallStackError::MissingParent { .. } | CallStackError::Cycle(_) => {
                ProblemKind::BROKEN_CALL_STACK
            }
        };
        Self::new(kind, error.to_string())
    }
}

/// Creates the problem of a failure that the caller has not caused. The cause is logged, never sent.
fn store_failure(error: StoreError) -> Problem {
    let (kind, detail) = match &error {
        StoreError::Unavailable { .. } => (
            ProblemKind::STORE_UNAVAILABLE,
            "the store did not answer and nothing was changed; retry after Retry-After seconds",
        ),
        StoreError::OutcomeUnknown { .. } => (
            ProblemKind::OUTCOME_UNKNOWN,
            "the write may have been applied; repeat the request with the same ids to find out",
        ),
        StoreError::Overloaded { .. } => (
            ProblemKind::OVERLOADED,
            "too many appends are queued and nothing was changed; retry after Retry-After seconds, with fewer concurrent writers",
        ),
        StoreError::UnsupportedVersion { .. } => (
            ProblemKind::UNSUPPORTED_SCHEMA_VERSION,
            "the data was written by a newer version of the service; upgrade this one",
        ),
        StoreError::Corrupt { .. } => (
            ProblemKind::CORRUPT_DOCUMENT,
            "a stored document is damaged; the operator finds it in the log under http_request_id",
        ),
        StoreError::Refused { .. } => (
            ProblemKind::STORE_REFUSED,
            "the store refused the command; the operator finds the reason in the log under http_request_id",
        ),
        _ => (
            ProblemKind::INTERNAL,
            "the service failed; the operator finds the reason in the log under http_request_id",
        ),
    };
    let problem = Problem::new(kind, detail);
    let problem = match &error {
        StoreError::Unavailable { retry_after, .. } | StoreError::Overloaded { retry_after } => {
            problem.with_retry_after(*retry_after)
        }
        StoreError::OutcomeUnknown { .. } => problem.with_retry_after(UNKNOWN_RETRY),
        _ => problem,
    };
    problem.caused_by(error)
}

impl From<Invalid> for Problem {
    fn from(invalid: Invalid) -> Self {
        let Invalid { location, detail, kind } = invalid;
        let InvalidKind::TooLarge(limit) = kind else {
            return Self::invalid_body(location, detail);
        };
        let kind = match limit {
            SizeLimit::Message => ProblemKind::MESSAGE_TOO_LARGE,
            SizeLimit::Batch => ProblemKind::BATCH_TOO_LARGE,
            SizeLimit::Metadata => ProblemKind::METADATA_TOO_LARGE,
            SizeLimit::Question => ProblemKind::INPUT_TOO_LARGE,
            SizeLimit::Context => ProblemKind::CONTEXT_TOO_LARGE,
            SizeLimit::Artifact => ProblemKind::ARTIFACT_TOO_LARGE,
            SizeLimit::ToolRun => ProblemKind::TOOL_RUN_TOO_LARGE,
            SizeLimit::Document => ProblemKind::DOCUMENT_TOO_LARGE,
            SizeLimit::Assistant => ProblemKind::ASSISTANT_TOO_LARGE,
        };
        Self::new(kind, "a size limit is exceeded; see errors").at(location, detail)
    }
}
