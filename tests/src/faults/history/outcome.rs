use serde::{Deserialize, Serialize};

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome<T> {
    /// It was carried out.
    Ok(T),
    /// It was not carried out, and never will be.
    Fail(Refusal),
    /// It may have been carried out, or yet be.
    Info(Refusal),
}

impl<T> Outcome<T> {
    /// Changes the answer, if there was one.
    pub fn map<U>(self, change: impl FnOnce(T) -> U) -> Outcome<U> {
        match self {
            Self::Ok(answer) => Outcome::Ok(change(answer)),
            Self::Fail(refusal) => Outcome::Fail(refusal),
            Self::Info(refusal) => Outcome::Info(refusal),
        }
    }

    /// The answer, if there was one.
    pub fn ok(&self) -> Option<&T> {
        match self {
            Self::Ok(answer) => Some(answer),
            Self::Fail(_) | Self::Info(_) => None,
        }
    }

    /// Why there was no answer, if there was none.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self {
            Self::Ok(_) => None,
            Self::Fail(refusal) | Self::Info(refusal) => Some(refusal),
        }
    }
}

/// Why an operation has no answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of problem the service told, or what became of the connection.
    pub code: String,
    /// The status the service told it with.
    pub status: Option<u16>,
    /// The seconds after which to come back, if it said.
    pub retry_after: Option<u64>,
}
