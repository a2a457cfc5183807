use std::fmt::Display;
use std::str::FromStr;

use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use records::{CallId, InputRequestId, StackId, UserId};

use crate::problem::Problem;

/// Returns a parameter of the path, percent-decoded once.
pub(super) async fn path_param(parts: &mut Parts, name: &str) -> Result<String, Problem> {
    let params = RawPathParams::from_request_parts(parts, &())
        .await
        .map_err(|_| Problem::invalid_parameter("path", "is not valid UTF-8"))?;
    let value = params.iter().find(|(key, _)| *key == name);
    Ok(value.map(|(_, value)| value.to_owned()).unwrap_or_default())
}

/// Parses a parameter of the path.
pub(super) async fn parse_path_param<T>(parts: &mut Parts, name: &str) -> Result<T, Problem>
where
    T: FromStr<Err: Display>,
{
    let text = path_param(parts, name).await?;
    text.parse().map_err(|error: T::Err| Problem::invalid_parameter(name, error.to_string()))
}

/// The id of a call, from the path.
#[derive(Debug)]
pub(crate) struct PathCallId(pub(crate) CallId);

impl<S: Sync> FromRequestParts<S> for PathCallId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "call_id").await.map(Self)
    }
}

/// The id of an input request, from the path.
#[derive(Debug)]
pub(crate) struct PathInputRequestId(pub(crate) InputRequestId);

impl<S: Sync> FromRequestParts<S> for PathInputRequestId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "request_id").await.map(Self)
    }
}

/// The id of a call in a call stack, from the path.
#[derive(Debug)]
pub(crate) struct PathStackId(pub(crate) StackId);

impl<S: Sync> FromRequestParts<S> for PathStackId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "stack_id").await.map(Self)
    }
}

/// The id of a user, from the path.
#[derive(Debug)]
pub(crate) struct PathUserId(pub(crate) UserId);

impl<S: Sync> FromRequestParts<S> for PathUserId {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "user_id").await.map(Self)
    }
}

/// The sequence of a message, from the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathSequence(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for PathSequence {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_number(parts, "sequence").await.map(Self)
    }
}

/// The version of a context snapshot, from the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PathContextVersion(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for PathContextVersion {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_number(parts, "version").await.map(Self)
    }
}

async fn parse_path_number(parts: &mut Parts, name: &str) -> Result<u64, Problem> {
    parse_number(name, &path_param(parts, name).await?, 0)
}

/// Parses a number that the store can hold: it counts with signed 64-bit integers.
pub(super) fn parse_number(name: &str, text: &str, min: u64) -> Result<u64, Problem> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|n| is_plain && *n >= min);
    let number = number.filter(|n| i64::try_from(*n).is_ok());
    number.ok_or_else(|| {
        let rule = format!("must be an integer from {min} to {}", i64::MAX);
        Problem::invalid_parameter(name, rule)
    })
}
