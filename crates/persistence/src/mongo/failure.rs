use mongodb::error::{
    Error, ErrorKind, RETRYABLE_WRITE_ERROR, TRANSIENT_TRANSACTION_ERROR,
    UNKNOWN_TRANSACTION_COMMIT_RESULT, WriteFailure,
};
use records::Invalid;

use crate::StoreError;

/// How an attempt at a call failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The call is decided: this is its answer.
    Decided(StoreError),
    /// The driver reports an error; what it means depends on the error.
    Driver(Error),
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Decided(error)
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

/// What a driver error says about the command that got it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// It was not carried out; another attempt may succeed.
    NotApplied,
    /// It may have been carried out.
    Unknown,
    /// It was refused, and will be again.
    Refused,
    /// The document would have grown past what the server holds.
    TooLarge,
}

/// The server was not, or no longer, able to take the command: 112 write conflict, 10107, 13435
/// and 13436 not primary, 262 exceeded time limit, 388 too large for the cache just now, 462
/// overloaded.
const NOT_APPLIED: [i32; 7] = [112, 262, 388, 462, 10_107, 13_435, 13_436];
/// The command was cut short: 50 time limit, 6, 7, 89 and 9001 network, 64, 79 and 100 write
/// concern, 91 and 11600 shutdown, 189 and 11602 change of state, 134 read concern.
const UNKNOWN: [i32; 13] = [6, 7, 50, 64, 79, 89, 91, 100, 134, 189, 9_001, 11_600, 11_602];
/// 10334 and 17419: the document is beyond 16 MiB.
const TOO_LARGE: [i32; 2] = [10_334, 17_419];
const DUPLICATE_KEY: i32 = 11_000;

/// Tells what an error means for the command that got it.
pub(super) fn meaning(error: &Error) -> Meaning {
    match &*error.kind {
        ErrorKind::ServerSelection { .. } | ErrorKind::ConnectionPoolCleared { .. } => {
            Meaning::NotApplied
        }
        ErrorKind::Io(io) if io.kind() == std::io::ErrorKind::ConnectionRefused => {
            Meaning::NotApplied
        }
        ErrorKind::Io(_)
        | ErrorKind::InvalidResponse { .. }
        | ErrorKind::Write(WriteFailure::WriteConcernError(_)) => Meaning::Unknown,
        _ => meaning_of_code(error),
    }
}

fn meaning_of_code(error: &Error) -> Meaning {
    if error.contains_label(UNKNOWN_TRANSACTION_COMMIT_RESULT) {
        return Meaning::Unknown;
    }
    if error.contains_label(TRANSIENT_TRANSACTION_ERROR) {
        return Meaning::NotApplied;
    }
    match code(error) {
        Some(code) if NOT_APPLIED.contains(&code) => Meaning::NotApplied,
        Some(code) if UNKNOWN.contains(&code) => Meaning::Unknown,
        Some(code) if TOO_LARGE.contains(&code) => Meaning::TooLarge,
        _ if error.contains_label(RETRYABLE_WRITE_ERROR) => Meaning::Unknown,
        _ if error.contains_label("SystemOverloadedError") => Meaning::NotApplied,
        _ => Meaning::Refused,
    }
}

/// Tells whether an error says that a unique key is taken.
pub(super) fn is_duplicate_key(error: &Error) -> bool {
    code(error) == Some(DUPLICATE_KEY)
}

/// Returns the server's code for the error, if the server sent one.
pub(super) fn code(error: &Error) -> Option<i32> {
    match &*error.kind {
        ErrorKind::Command(command) => Some(command.code),
        ErrorKind::Write(WriteFailure::WriteError(write)) => Some(write.code),
        ErrorKind::Write(WriteFailure::WriteConcernError(concern)) => Some(concern.code),
        _ => None,
    }
}
