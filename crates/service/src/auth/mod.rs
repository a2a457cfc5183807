//! Who is calling, and which apps they may touch.
//!
//! Everything a call is allowed to do comes from its token, never from other headers or the body.

mod claims;
mod jwt;
mod keys;
mod local;
mod origins;

use axum::http::HeaderMap;
use chrono::{DateTime, Utc};
use records::{AppId, Caller, Clock as _, SystemClock, Ticket};

use crate::config::{AuthConfig, AuthMode, ConfigError};
use crate::problem::{Problem, ProblemKind};
use origins::Origins;

/// Tells callers apart.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// This machine's programs are trusted, and nobody else gets here.
    Open,
    /// Callers show a JSON Web Token.
    Jwt {
        /// Checks it.
        verifier: Box<jwt::Verifier>,
        /// Whose pages may open sockets.
        origins: Origins,
    },
}

/// A caller who has been recognised.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) caller: Caller,
    /// Whether the caller keeps the registry of apps.
    pub(crate) is_operator: bool,
    /// When the caller is no longer recognised; `None` for never.
    pub(crate) expires_at: Option<DateTime<Utc>>,
    apps: Apps,
}

/// What only some roles may do.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Privilege {
    ManageApps,
    ReadMetrics,
    ReadStats,
    CreditWallets,
}

/// The apps a caller may touch.
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

    /// Recognises the caller by the headers of the request.
    pub(crate) fn identify(&self, headers: &HeaderMap) -> Result<Identity, Problem> {
        match self {
            Self::Open => match local::objection(headers) {
                Some(objection) => Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, objection)),
                None => Ok(Identity::local()),
            },
            Self::Jwt { .. } => self.verify(bearer_token(headers).map_err(unauthenticated)?),
        }
    }

    /// Recognises the caller by a token, wherever it stood.
    pub(crate) fn verify(&self, token: &str) -> Result<Identity, Problem> {
        match self {
            Self::Open => Ok(Identity::local()),
            Self::Jwt { verifier, .. } => verifier.verify(token).map_err(unauthenticated),
        }
    }

    /// Refuses a socket that a page from elsewhere opens: browsers let every page open any.
    pub(crate) fn check_origin(&self, headers: &HeaderMap) -> Result<(), Problem> {
        let objection = match self {
            Self::Open => local::objection(headers),
            Self::Jwt { origins, .. } => origins.objection(headers),
        };
        objection.map_or(Ok(()), |text| Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, text)))
    }

    /// Tells whether callers have to show who they are.
    pub(crate) fn is_open(&self) -> bool {
        matches!(self, Self::Open)
    }
}

impl Identity {
    /// Whoever reaches a service that asks for no tokens.
    fn local() -> Self {
        Self { caller: Caller::Service, is_operator: true, expires_at: None, apps: Apps::All }
    }

    /// Whoever shows a ticket to a chat of an app.
    pub(crate) fn from_ticket(app_id: AppId, ticket: Ticket) -> Result<Self, Problem> {
        let Ticket { caller, caller_expires_at: expires_at } = ticket;
        if expires_at.is_some_and(|expires_at| expires_at <= SystemClock.now()) {
            return Err(unauthenticated("the token of who asked for the ticket has expired"));
        }
        Ok(Self { caller, is_operator: false, expires_at, apps: Apps::These(vec![app_id]) })
    }

    /// Refuses a caller whose role does not have a privilege.
    pub(crate) fn require(&self, privilege: Privilege) -> Result<(), Problem> {
        let is_service = self.caller == Caller::Service;
        let (is_held, rule) = match privilege {
            Privilege::ManageApps => (
                self.is_operator,
                "only a token with the role operator may keep the registry of apps",
            ),
            Privilege::ReadMetrics => (
                self.is_operator || is_service,
                "the metrics are for the roles service and operator",
            ),
            Privilege::ReadStats => (
                self.is_operator || is_service,
                "what workflows do is for the roles service and operator",
            ),
            Privilege::CreditWallets => {
                (is_service, "only a token with the role service may fill a wallet")
            }
        };
        if is_held { Ok(()) } else { Err(Problem::new(ProblemKind::FORBIDDEN_ROLE, rule)) }
    }

    /// Tells whether the caller may touch the app.
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

/// Why a caller was not recognised; safe to tell, since it never repeats the token.
pub(crate) type Refusal = &'static str;

fn bearer_token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut given = headers.get_all(axum::http::header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else {
        return Err("exactly one Authorization header with a bearer token is needed");
    };
    let text = value.to_str().map_err(|_| jwt::NOT_VALID)?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim_start()),
        _ => Err("the Authorization header must carry a bearer token"),
    }
}
