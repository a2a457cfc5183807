//! Authentication: who is calling, and which apps the caller may use.
//!
//! All rights of a request follow from its token, never from other headers or the body.

mod access_keys;
mod claims;
mod cookies;
mod cors;
mod identity;
mod jwt;
mod key_ring;
mod keys;
mod local;
mod mint;
mod offered_token;
mod origins;
mod revocation_table;
mod revocations;
mod sign_in;
pub(crate) mod signatures;
mod token_cookie;
mod token_watch;

use std::sync::Arc;
use std::time::Duration;

use axum::http::{HeaderMap, HeaderValue, Method, header};
use persistence::Store;
use records::{AccessKeyDigest, AccessKeyKind, AccessKeySecret, AppId, Ticket};
use tower_http::cors::CorsLayer;

use crate::config::{AuthConfig, AuthMode, ConfigError};
use crate::metrics::Metrics;
use crate::problem::{Problem, ProblemKind};
use access_keys::AccessKeys;
pub(crate) use identity::Identity;
use identity::{Apps, Role};
pub use mint::{MintError, NewToken};
pub(crate) use offered_token::offered_token;
use origins::Origins;
use revocations::Revocations;
pub(crate) use sign_in::{Redirect, Returned, SignIn};
pub(crate) use token_watch::{TokenEnd, TokenWatch};

/// How long a ticket is valid: long enough for a page to connect after requesting it.
pub(crate) const TICKET_VALID_FOR: Duration = Duration::from_secs(30);

/// Identifies callers.
#[derive(Debug)]
pub(crate) enum Authenticator {
    /// Open mode: programs of this machine are trusted, and only they can connect.
    Open,
    /// Callers send a JSON Web Token or an API key.
    Jwt {
        /// Verifies the tokens.
        verifier: Box<jwt::Verifier>,
        /// Finds the keys that were issued to programs.
        access_keys: Box<AccessKeys>,
        /// The origins whose pages may call the service.
        origins: Origins,
        /// How people sign in, if they can.
        sign_in: Option<Box<SignIn>>,
        /// The tokens that are refused although they are valid.
        revocations: Box<Revocations>,
    },
}

impl Authenticator {
    /// Reads the keys that the settings name. The revocations and the issued keys are read from the store, and again
    /// after at most `recheck`.
    pub(crate) fn new(
        config: &AuthConfig,
        store: &Arc<dyn Store>,
        recheck: Duration,
        metrics: &Metrics,
    ) -> Result<Self, ConfigError> {
        let Some((verifier, origins)) = read(config)? else { return Ok(Self::Open) };
        let access_keys = Box::new(AccessKeys::new(Arc::clone(store), recheck));
        let sign_in = SignIn::new(config, Arc::clone(store), &metrics.keys)?.map(Box::new);
        let of_auth = metrics.auth.clone();
        let revocations = Box::new(Revocations::new(Arc::clone(store), recheck, of_auth));
        Ok(Self::Jwt { verifier, access_keys, origins, sign_in, revocations })
    }

    /// Checks the settings, and the keys that they name.
    pub(crate) fn check(config: &AuthConfig) -> Result<(), ConfigError> {
        read(config).map(drop)
    }

    /// Fetches the keys that checked settings name by an address, and the description of the issuer of sign-in.
    pub(crate) async fn check_issuers(config: &AuthConfig) -> Result<(), ConfigError> {
        if let (AuthMode::Jwt, Some(url), Some(algorithm)) =
            (config.mode, &config.jwks_url, config.algorithm)
        {
            let name = "jwks_url";
            let failed = |detail| ConfigError::Unreachable { name, detail };
            key_ring::fetch_keys(url, algorithm).await.map_err(failed)?;
        }
        SignIn::check_issuer(config).await
    }

    /// Returns the layer that lets pages of the allowed origins read responses; `None` if there are none.
    pub(crate) fn cors(&self) -> Option<CorsLayer> {
        match self {
            Self::Jwt { origins, .. } if !origins.is_empty() => Some(cors::layer(origins.values())),
            _ => None,
        }
    }

    /// Starts to follow the changes of the keys and the revocations, if there is a runtime.
    pub(crate) fn follow(&self, metrics: &Metrics) {
        if let Self::Jwt { verifier, revocations, .. } = self {
            verifier.follow_keys(metrics.keys.clone());
            revocations.follow();
        }
    }

    /// Identifies the caller by the headers of the request: a token, or the session of a browser.
    pub(crate) async fn identify(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Identity, Problem> {
        if let Self::Open = self {
            return match local::objection(headers) {
                Some(objection) => Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, objection)),
                None => Ok(Identity::local()),
            };
        }
        match session(headers) {
            Some(secret) => self.resume_session(&secret, method, headers).await,
            None => self.verify(bearer_token(headers).map_err(unauthenticated)?).await,
        }
    }

    /// Identifies a person who has signed in.
    ///
    /// A browser sends a cookie with requests that no page of this service has made. So the request must come from one,
    /// and one that changes something must have the header that only such a page can set.
    async fn resume_session(
        &self,
        secret: &AccessKeySecret,
        method: &Method,
        headers: &HeaderMap,
    ) -> Result<Identity, Problem> {
        let Self::Jwt { access_keys, sign_in: Some(sign_in), .. } = self else {
            return Err(unauthenticated("people cannot sign in at this service; send a token"));
        };
        let is_safe = method.is_safe();
        if let Some(objection) = sign_in.objection(headers, is_safe) {
            return Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, objection));
        }
        let given = headers.get(CSRF_HEADER).map(HeaderValue::as_bytes);
        if !is_safe && given != Some(csrf_token(secret).as_bytes()) {
            let detail =
                "a request of a signed-in person needs the header x-csrf-token of GET /api/session";
            return Err(Problem::new(ProblemKind::FORBIDDEN_ORIGIN, detail));
        }
        self.admit(access_keys.verify(secret, AccessKeyKind::SignIn).await?).await
    }

    /// Refuses a key from now on, after this process has revoked it.
    pub(crate) fn forget(&self, secret: &AccessKeySecret) {
        if let Self::Jwt { access_keys, .. } = self {
            access_keys.forget(&secret.id());
        }
    }

    /// Returns how people sign in, if they can.
    pub(crate) fn sign_in(&self) -> Option<&SignIn> {
        match self {
            Self::Open => None,
            Self::Jwt { sign_in, .. } => sign_in.as_deref(),
        }
    }

    /// Identifies the caller by a token or an API key, from any part of the request.
    pub(crate) async fn verify(&self, token: &str) -> Result<Identity, Problem> {
        match self {
            Self::Open => Ok(Identity::local()),
            Self::Jwt { verifier, access_keys, .. } => {
                let identity = match AccessKeySecret::parse(token) {
                    Some(secret) => access_keys.verify(&secret, AccessKeyKind::Api).await?,
                    None => verifier.verify(token).await?,
                };
                self.admit(identity).await
            }
        }
    }

    /// Identifies the caller by a ticket that it has redeemed.
    pub(crate) async fn identify_by_ticket(
        &self,
        app_id: AppId,
        ticket: Ticket,
    ) -> Result<Identity, Problem> {
        self.admit(Identity::from_ticket(app_id, ticket)?).await
    }

    /// Refuses an identity that is revoked. Every identity passes here, whatever has identified the caller.
    async fn admit(&self, identity: Identity) -> Result<Identity, Problem> {
        match self {
            Self::Open => Ok(identity),
            Self::Jwt { revocations, .. } => revocations.admit(identity).await,
        }
    }

    /// Watches whether an identity stays valid in an app, for a stream that outlives its request.
    pub(crate) fn watch(self: &Arc<Self>, identity: &Identity, app_id: &AppId) -> TokenWatch {
        TokenWatch::new(Arc::clone(self), identity.clone(), app_id.clone())
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

/// Reads the keys and the origins of settings with authentication.
fn read(config: &AuthConfig) -> Result<Option<(Box<jwt::Verifier>, Origins)>, ConfigError> {
    SignIn::checked(config)?;
    match config.mode {
        AuthMode::None => Ok(None),
        AuthMode::Jwt => {
            let verifier = Box::new(jwt::Verifier::new(config)?);
            Ok(Some((verifier, Origins::new(&config.allowed_origins)?)))
        }
    }
}

pub(crate) fn unauthenticated(refusal: Refusal) -> Problem {
    Problem::new(ProblemKind::UNAUTHENTICATED, refusal)
}

/// Why a caller was not identified. It can be sent to the caller, because it never repeats the token.
pub(crate) type Refusal = &'static str;

/// The header with which a page shows that it belongs to the service whose cookie the request has.
const CSRF_HEADER: &str = "x-csrf-token";

/// Returns the token of [`CSRF_HEADER`] for a session. It tells nothing about the session's key.
pub(crate) fn csrf_token(secret: &AccessKeySecret) -> String {
    AccessKeyDigest::of(&format!("csrf {}", secret.expose())).to_string()
}

/// Returns the session in the cookies of a request; `None` if it has a token, which then counts.
pub(crate) fn session(headers: &HeaderMap) -> Option<AccessKeySecret> {
    if headers.contains_key(header::AUTHORIZATION) {
        return None;
    }
    AccessKeySecret::parse(cookies::cookie(headers, cookies::SESSION)?)
}

fn bearer_token(headers: &HeaderMap) -> Result<&str, Refusal> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    let (Some(value), None) = (given.next(), given.next()) else {
        return Err("the request must have exactly one Authorization header, with a bearer token");
    };
    let text = value.to_str().map_err(|_| jwt::NOT_VALID)?;
    match text.split_once(' ') {
        Some((scheme, token)) if scheme.eq_ignore_ascii_case("bearer") => Ok(token.trim_start()),
        _ => Err("the Authorization header must be: Bearer <token>"),
    }
}
