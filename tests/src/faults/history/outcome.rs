use serde::{Deserialize, Serialize};

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T> {
    /// It was applied.
    Ok(T),
    /// It was not applied, and never will be.
    Fail(Refusal),
    /// It may have been applied, or may still be.
    Info(Refusal),
}

impl<T> Outcome<T> {
    /// Maps the result, if there was one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Ok(answer) => Outcome::Ok(change(answer)),
            Self::Fail(refusal) => Outcome::Fail(refusal),
            Self::Info(refusal) => Outcome::Info(refusal),
        }
    }

    /// The result, if there was one.
    pub fn ok(&self) -> Option<&T> {
        match self {
            Self::Ok(answer) => Some(answer),
            Self::Fail(_) | Self::Info(_) => None,
        }
    }

    /// The failure, if there was one.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Ok(_) => None,
            Self::Fail(refusal) | Self::Info(refusal) => Some(refusal),
        }
    }
}

/// Why an operation has no result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The slug of the service's problem, or the error of the connection.
    pub code: String,
    /// The HTTP status.
    pub status: Option<u16>,
    /// The seconds of `Retry-After`, if present.
    pub retry_after: Option<u64>,
}
