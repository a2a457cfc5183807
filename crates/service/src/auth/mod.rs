//! Authentication: who is calling, and which apps the caller may use.
//!
//! All rights of a request follow from its token, never from other headers or the body.

mod claims;
mod jwt;
mod keys;
mod local;
mod origins;
mod signatures;

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use records::{AppId, Caller, Clock as _, SystemClock, Ticket};

use crate::config::{AuthConfig, AuthMode, ConfigError};
use crate::problem::{Problem, ProblemKind};
use origins::Origins;

/// Identifies callers.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// Open mode: programs of this machine are trusted, and only they can connect.
    Open,
    /// Callers send a JSON Web Token.
    Jwt {
        /// Verifies the tokens.
        verifier: Box<jwt::Verifier>,
        /// The origins whose pages may open sockets.
        origins: Origins,
    },
}

/// An identified caller.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    /// Whether the caller has the role `operator`.
    pub(crate) is_operator: bool,
    /// When the identity expires; `None` for never.
    pub(crate) expires_at: Option<DateTime<Utc>>,
    apps: Apps,
}

/// A right that only some roles have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Privilege {
    ManageApps,
    ReadMetrics,
    ReadStats,
    CreditWallets,
}

/// The apps that a caller may use.
#[derive(Debug, Clone)]
enum Apps {
    All,
    These(Vec<AppId>),
}

impl Authenticator {
    /// Reads the keys that the settings name.
    pub(crate) fn new(config: &AuthConfig) -> Result<Self, ConfigError> {
        match config.mode {
            AuthMode::None => Ok(Self::Open),
            AuthMode::Jwt => Ok(Self::Jwt {
                verifier: Box::new(jwt::Verifier::new(config)?),
                origins: Origins::new(&config.allowed_origins)?,
            }),
        }
    }

    /// Identifies the caller by the headers of the request.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        match self {
            Self::Open => match local::objection(headers) {
                Some(objection) => Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, objection)),
                None => Ok(Identity::local()),
            },
            Self::Jwt { .. } => self.verify(bearer_token(headers).map_err(unauthenticated)?),
        }
    }

    /// Identifies the caller by a token, from any part of the request.
    pub(crate) fn verify(&self, token: &str) -> Result<Identity, Problem> {
        match self {
            Self::Open => Ok(Identity::local()),
            Self::Jwt { verifier, .. } => verifier.verify(token).map_err(unauthenticated),
        }
    }

    /// Refuses a WebSocket from a page of another origin: browsers let every page open one to any server.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let objection = match self {
            Self::Open => local::objection(headers),
            Self::Jwt { origins, .. } => origins.objection(headers),
        };
        objection.map_or(Ok(()), |text| Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, text)))
    }

    /// Tells whether the service runs without authentication.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}

impl Identity {
    /// Returns the identity of every caller in open mode.
    fn local() -> Self {
        Self { caller: Caller::Service, is_operator: true, expires_at: None, apps: Apps::All }
    }

    /// Returns the identity of the bearer of a ticket to a chat of an app.
    pub(crate) fn from_ticket(app_id: AppId, ticket: Ticket) -> Result<Self, Problem> {
        let Ticket { caller, caller_expires_at: expires_at } = ticket;
        if expires_at.is_some_and(|expires_at| expires_at <= SystemClock.now()) {
            return Err(unauthenticated("the token with which the ticket was created has expired"));
        }
        Ok(Self { caller, is_operator: false, expires_at, apps: Apps::These(vec![app_id]) })
    }

    /// Refuses a caller whose role does not have a privilege.
    pub(crate) fn require(&self, privilege: Privilege) -> Result<(), Problem> {
        let is_service = self.caller == Caller::Service;
        let (is_held, rule) = match privilege {
            Privilege::ManageApps => {
                (self.is_operator, "the registry of apps requires a token with the role operator")
            }
            Privilege::ReadMetrics => (
                self.is_operator || is_service,
                "the metrics require a token with the role service or operator",
            ),
            Privilege::ReadStats => (
                self.is_operator || is_service,
                "statistics require a token with the role service or operator",
            ),
            Privilege::CreditWallets => (
                is_service,
                "creating or crediting a wallet requires a token with the role service",
            ),
        };
        if is_held { Ok(()) } else { Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, rule)) }
    }

    /// Tells whether the caller may use the app.
    pub(crate) fn may_use_app(&self, app_id: &AppId) -> bool {
        match &self.apps {
            Apps::All => true,
            Apps::These(apps) => apps.contains(app_id),
        }
    }
}

pub(crate) fn unauthenticated(refusal: Refusal) -> Problem {
    Problem::new(ProblemKind::UNAUTHENTICATED, refusal)
}

/// Why a caller was not identified. It can be sent to the caller, because it never repeats the token.
pub(crate) type Refusal = &'static str;

fn bearer_token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut given = headers.get_all(axum::http::header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else {
        return Err("the request must have exactly one Authorization header, with a bearer token");
    };
    let text = value.to_str().map_err(|_| jwt::NOT_VALID)?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim_start()),
        _ => Err("the Authorization header must be: Bearer <token>"),
    }
}
