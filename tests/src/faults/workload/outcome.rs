use std::io::ErrorKind;

use tokio_tungstenite::tungstenite::Error as SocketError;

use crate::client::{CallError, Problem};
use crate::faults::history::{Outcome, Refusal};

/// Returns what a response means for the request.
///
/// The request was not applied if it was never sent, or if the service says so with a documented status:
/// any 4xx, or 503. After every other failure it may have been applied.
pub fn outcome<T>(answer: Result<T, CallError>) -> Outcome<T> {
    let error = match answer {
        Ok(answer) => return Outcome::Ok(answer),
        Err(error) => error,
    };
    match error {
        CallError::Refused(problem) => {
            let is_proof = problem.status < 500 || problem.status == 503;
            let refusal = told(*problem);
            if is_proof { Outcome::Fail(refusal) } else { Outcome::Info(refusal) }
        }
        CallError::NoAnswer(error) if error.is_connect() => Outcome::Fail(untold("not-connected")),
        CallError::NoAnswer(error) if error.is_timeout() => Outcome::Info(untold("timeout")),
        CallError::NoSocket(error) if is_not_connected(&error) => {
            Outcome::Fail(untold("not-connected"))
        }
        CallError::NoAnswer(_) | CallError::NoSocket(_) => Outcome::Info(untold("no-answer")),
        CallError::OtherShape(_) => Outcome::Info(untold("other-shape")),
    }
}

fn is_not_connected(error: &SocketError) -> bool {
    matches!(error, SocketError::Io(error) if error.kind() == ErrorKind::ConnectionRefused)
}

fn told(problem: Problem) -> Refusal {
    let Problem { kind: code, status, retry_after, .. } = problem;
    Refusal { code, status: Some(status), retry_after }
}

fn untold(code: &str) -> Refusal {
    Refusal { code: code.to_owned(), status: None, retry_after: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(status: u16) -> Outcome<()> {
        let (kind, detail) = (String::new(), String::new());
        let errors = serde_json::Value::Null;
        let problem =
            Problem { kind, status, detail, errors, input_request: None, retry_after: None };
        outcome(Err(CallError::Refused(Box::new(problem))))
    }

    #[test]
    fn only_a_documented_status_proves_that_nothing_was_done() {
        for status in [400, 409, 413, 422, 503] {
            assert!(matches!(told(status), Outcome::Fail(_)), "{status}");
        }
        for status in [500, 502, 504] {
            assert!(matches!(told(status), Outcome::Info(_)), "{status}");
        }
    }
}
