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

/// A call, from the path.
#[derive(Debug)]
pub(crate) struct CallName(pub(crate) CallId);

impl<S: Sync> FromRequestParts<S> for CallName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "call_id").await.map(Self)
    }
}

/// An input request, from the path.
#[derive(Debug)]
pub(crate) struct InputRequestName(pub(crate) InputRequestId);

impl<S: Sync> FromRequestParts<S> for InputRequestName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "request_id").await.map(Self)
    }
}

/// A call of a call stack, from the path.
#[derive(Debug)]
pub(crate) struct StackName(pub(crate) StackId);

impl<S: Sync> FromRequestParts<S> for StackName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "stack_id").await.map(Self)
    }
}

/// A user, from the path.
#[derive(Debug)]
pub(crate) struct UserName(pub(crate) UserId);

impl<S: Sync> FromRequestParts<S> for UserName {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_param(parts, "user_id").await.map(Self)
    }
}

/// The position of a message, from the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for Sequence {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_number(parts, "sequence").await.map(Self)
    }
}

/// A version of the context snapshot, from the path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ContextVersionNumber(pub(crate) u64);

impl<S: Sync> FromRequestParts<S> for ContextVersionNumber {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Problem> {
        parse_path_number(parts, "version").await.map(Self)
    }
}

async fn parse_path_number(parts: &mut Parts, name: &str) -> Result<u64, Problem> {
    parse_number(name, &path_param(parts, name).await?, 0)
}

/// Parses a number that the store can count to: one that fits in 63 bits.
pub(super) fn parse_number(name: &str, text: &str, least: u64) -> Result<u64, Problem> {
    let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = text.parse::<u64>().ok().filter(|n| is_plain && *n >= least);
    let number = number.filter(|n| i64::try_from(*n).is_ok());
    number.ok_or_else(|| {
        let rule = format!("must be an integer from {least} to {}", i64::MAX);
        Problem::invalid_parameter(name, rule)
    })
}
