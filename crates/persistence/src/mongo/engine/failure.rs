use mongodb::error::{
    Error, ErrorKind, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT, WriteFailure,
};
use records::Invalid;

use crate::metrics::FailureReason;
use crate::mongo::engine::driver_error::DriverError;
use crate::{BoxError, StoreError};

/// The failure of one attempt at a call.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The call is decided: this error is its answer.
    Decided(StoreError),
    /// The driver returned an error; [`classify_error`] interprets it.
    Driver(Error),
    /// The write was applied, but may be rolled back.
    NotDurable(BoxError),
    /// The attempt was dropped before it ended.
    Unfinished(BoxError),
    /// Something else changed between two reads of the attempt, which has written nothing: the next one decides anew.
    Overtaken(&'static str),
    /// Nothing more is begun for the call, for this reason.
    Ended(&'static str),
}

impl Failure {
    /// Returns the reason of the failure for the metrics; `None` if the call is decided.
    pub(crate) fn reason(&self) -> Option<FailureReason> {
        match self {
            Self::Decided(_) => None,
            Self::Driver(error) => Some(reason(error)),
            Self::NotDurable(_) => Some(FailureReason::WriteConcern),
            Self::Overtaken(_) => Some(FailureReason::Transient),
            Self::Unfinished(_) | Self::Ended(_) => Some(FailureReason::Deadline),
        }
    }

    /// Returns what the driver says, for its experts.
    pub(crate) fn driver_text(&self) -> Option<String> {
        match self {
            Self::Driver(error) => Some(error.to_string()),
            _ => None,
        }
    }

    /// Returns whether the server no longer keeps the snapshot that was to be read.
    pub(crate) fn is_lost_snapshot(&self) -> bool {
        let Self::Driver(error) = self else { return false };
        let ErrorKind::Command(command) = &*error.kind else { return false };
        SNAPSHOT_LOST.contains(&command.code)
    }

    /// Returns whether a write of the attempt may have been applied.
    pub(crate) fn may_have_applied(&self) -> bool {
        match self {
            Self::Decided(_) | Self::Overtaken(_) | Self::Ended(_) => false,
            Self::Driver(error) => classify_error(error) == ErrorClass::Unknown,
            Self::NotDurable(_) | Self::Unfinished(_) => true,
        }
    }

    /// Returns the final answer if a retry cannot change it; otherwise the cause.
    pub(crate) fn into_final(self) -> Result<StoreError, BoxError> {
        match self {
            Self::Decided(error) => Ok(error),
            Self::Driver(error) if lacks_transactions(&error) => Ok(StoreError::NotAReplicaSet),
            Self::Driver(error) if classify_error(&error) == ErrorClass::Refused => {
                Ok(StoreError::Refused { source: DriverError::from(error).into() })
            }
            Self::Driver(error) => Err(DriverError::from(error).into()),
            Self::NotDurable(source) | Self::Unfinished(source) => Err(source),
            Self::Overtaken(reason) | Self::Ended(reason) => Err(reason.into()),
        }
    }
}

fn reason(error: &Error) -> FailureReason {
    match &*error.kind {
        ErrorKind::ServerSelection { .. } => FailureReason::ServerSelection,
        ErrorKind::ConnectionPoolCleared { .. } => FailureReason::PoolCleared,
        ErrorKind::Io(_) | ErrorKind::InvalidResponse { .. } => FailureReason::Network,
        ErrorKind::Write(WriteFailure::WriteConcernError(_)) => FailureReason::WriteConcern,
        _ if classify_error(error) == ErrorClass::Refused => FailureReason::Refused,
        _ => FailureReason::Transient,
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Decided(error)
    }
}

impl From<Failure> for StoreError {
    /// For failures before anything is sent.
    fn from(failure: Failure) -> Self {
        failure.into_final().unwrap_or_else(|source| Self::OutcomeUnknown { source })
    }
}

impl From<Invalid> for Failure {
    fn from(invalid: Invalid) -> Self {
        Self::Decided(invalid.into())
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Driver(error)
    }
}

/// What a driver error says about its command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorClass {
    /// The command was not applied; a retry may succeed.
    NotApplied,
    /// The command may have been applied; a retry may find out.
    Unknown,
    /// The command was refused, and a retry would be refused as well.
    Refused,
}

/// The server reports that it performed no write before it failed.
const NO_WRITES_PERFORMED: &str = "NoWritesPerformed";

/// The codes after which a retry may succeed: 6, 7, 89 and 9001 network, 43 and 237 lost cursor, 50
/// time limit, 64, 79 and 100 write concern, 91 and 11600 shutdown, 112 write conflict, 134 read
/// concern, 189 and 11602 state change, 239 and 246 snapshot unavailable, 262 time limit exceeded,
/// 388 transaction too large for the cache, 462 overload, 10107, 13435 and 13436 not primary.
const TRANSIENT: [i32; 24] = [
    6, 7, 43, 50, 64, 79, 89, 91, 100, 112, 134, 189, 237, 239, 246, 262, 388, 462, 9_001, 10_107,
    11_600, 11_602, 13_435, 13_436,
];

/// The codes for a snapshot that is too old, or not available.
const SNAPSHOT_LOST: [i32; 2] = [239, 246];

/// The server's code for a duplicate key.
pub(crate) const DUPLICATE_KEY: i32 = 11_000;

/// Returns what an error means for its command.
///
/// The driver retries a write once by itself and returns only the error of the retry. An error that
/// normally precedes the write, such as "not primary", may therefore hide a first try that was
/// applied. Only two errors prove that nothing was applied: no server could be selected, so nothing
/// was sent, or the server says so itself.
pub(crate) fn classify_error(error: &Error) -> ErrorClass {
    if error.contains_label(NO_WRITES_PERFORMED) {
        return ErrorClass::NotApplied;
    }
    // This applies even if no server could be selected, because the selection may have failed for
    // the driver's retry.
    if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) {
        return ErrorClass::Unknown;
    }
    match &*error.kind {
        ErrorKind::ServerSelection { .. } => ErrorClass::NotApplied,
        ErrorKind::ConnectionPoolCleared { .. }
        | ErrorKind::Io(_)
        | ErrorKind::InvalidResponse { .. }
        | ErrorKind::Write(WriteFailure::WriteConcernError(_)) => ErrorClass::Unknown,
        _ if is_transient(error) => ErrorClass::Unknown,
        _ => ErrorClass::Refused,
    }
}

/// Returns whether the server refused a command with a transaction number, because only members of a replica set take
/// them. The driver puts words of its own, about retryable writes, in place of the server's.
fn lacks_transactions(error: &Error) -> bool {
    const ILLEGAL_OPERATION: i32 = 20;
    const REASONS: [&str; 2] = ["retryable writes", "replica set"];
    match &*error.kind {
        ErrorKind::Transaction { message, .. } => message.contains("by this deployment"),
        ErrorKind::Command(command) => {
            let has = |reason: &&str| command.message.contains(*reason);
            command.code == ILLEGAL_OPERATION && REASONS.iter().any(has)
        }
        _ => false,
    }
}

fn is_transient(error: &Error) -> bool {
    let is_transient = |code| TRANSIENT.contains(&code);
    let labels = [
        RETRYABLE_WRITE_ERROR,
        TRANSIENT_TRANSACTION_ERROR,
        UNKNOWN_TRANSACTION_COMMIT_RESULT,
        "SystemOverloadedError",
    ];
    code(error).is_some_and(is_transient) || labels.iter().any(|label| error.contains_label(label))
}

/// Returns whether an error reports a duplicate key.
pub(crate) fn is_duplicate_key(error: &Error) -> bool {
    code(error) == Some(DUPLICATE_KEY)
}

/// Returns whether an insertion failed only because some documents exist.
pub(crate) fn failed_only_on_duplicates(error: &Error) -> bool {
    let ErrorKind::InsertMany(insertion) = &*error.kind else { return false };
    let refused = insertion.write_errors.iter().flatten();
    insertion.write_concern_error.is_none()
        && refused.clone().next().is_some()
        && refused.into_iter().all(|write| write.code == DUPLICATE_KEY)
}

/// Returns the server's code for the error, if the server sent one.
pub(crate) fn code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        ErrorKind::Write(WriteFailure::WriteConcernError(concern)) => Some(concern.code),
        ErrorKind::InsertMany(failed) => {
            failed.write_errors.as_ref()?.first().map(|write| write.code)
        }
        _ => None,
    }
}
