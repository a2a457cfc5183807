use jsonwebtoken::errors::{Error, ErrorKind};
use jsonwebtoken::{Validation, decode, decode_header};
use serde::de::DeserializeOwned;

use super::claims::{Claims, IdClaims};
use super::key_ring::KeyRing;
use super::{Identity, Refusal, signatures, unauthenticated};
use crate::config::{Algorithm, AuthConfig, ConfigError};
use crate::metrics::KeyMetrics;
use crate::problem::Problem;

/// The longest token that is parsed, in bytes.
const MAX_TOKEN_BYTES: usize = 8 << 10;
const MAX_LEEWAY_SEC: u64 = 60;
const MAX_REFRESH_SEC: u64 = 86_400;

pub(super) const NOT_VALID: Refusal = "the bearer token is not valid";

/// Verifies tokens against configured keys, with one pinned algorithm.
pub(crate) struct Verifier {
    algorithm: Algorithm,
    keys: KeyRing,
    validation: Validation,
}

impl std::fmt::Debug for Verifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Keys are secrets.
        f.debug_struct("Verifier").finish_non_exhaustive()
    }
}

impl Verifier {
    pub(super) fn new(config: &AuthConfig) -> Result<Self, ConfigError> {
        let algorithm = config
            .algorithm
            .ok_or(ConfigError::Missing { name: "algorithm", hint: "HS256, RS256 or ES256" })?;
        if config.leeway_sec > MAX_LEEWAY_SEC {
            return Err(ConfigError::Leeway { leeway_sec: config.leeway_sec });
        }
        if !(1..=MAX_REFRESH_SEC).contains(&config.jwks_refresh_sec) {
            return Err(ConfigError::Refresh { refresh_sec: config.jwks_refresh_sec });
        }
        signatures::install();
        Ok(Self {
            algorithm,
            keys: KeyRing::load(config, algorithm)?,
            validation: validation(config, algorithm),
        })
    }

    /// Returns the only algorithm of tokens.
    pub(super) fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Starts to follow the changes of the keys.
    pub(super) fn follow_keys(&self, metrics: KeyMetrics) {
        self.keys.follow(metrics);
    }

    /// Returns once the key with a digest is no longer valid.
    pub(super) async fn key_removed(&self, digest: &str) {
        self.keys.removed(digest).await;
    }

    /// Returns the identity of the bearer, or why the token is refused.
    pub(super) async fn verify(&self, token: &str) -> Result<Identity, Problem> {
        let (claims, digest) = self.claims::<Claims>(token).await?;
        Ok(claims.identity(self.validation.leeway, digest))
    }

    /// Returns the identity of the person whom an ID token describes. `nonce` is from the request for the token, and `program` is
    /// the client id with which it was made.
    pub(super) async fn verify_id_token(
        &self,
        token: &str,
        nonce: &str,
        program: &str,
    ) -> Result<Identity, Problem> {
        let (IdClaims { claims, nonce: given, azp }, _) = self.claims(token).await?;
        if given != nonce || azp.is_some_and(|azp| azp != program) {
            return Err(unauthenticated("the ID token is for another sign-in"));
        }
        Ok(claims.identity(self.validation.leeway, None))
    }

    /// Returns the claims of a valid token, and the digest of the key that signed it.
    async fn claims<T: DeserializeOwned>(
        &self,
        token: &str,
    ) -> Result<(T, Option<String>), Problem> {
        let kid = checked_kid(token).map_err(unauthenticated)?;
        let keys = self.keys.keys_for(kid.as_deref()).await?;
        let mut result = Err(ErrorKind::InvalidSignature.into());
        let mut digest = None;
        for key in keys.candidates(kid.as_deref()) {
            result = decode::<T>(token, key, &self.validation);
            digest = self.keys.digest_of(key);
            if !is_of_another_key(&result) {
                break;
            }
        }
        match result {
            Ok(token) => Ok((token.claims, digest)),
            Err(error) => {
                let problem = unauthenticated(refusal(&error));
                // The signature is verified before the claims.
                let is_expired = matches!(error.kind(), ErrorKind::ExpiredSignature);
                Err(if is_expired { problem.of_known_caller() } else { problem })
            }
        }
    }
}

/// Returns the name of the key of a token whose header is acceptable.
fn checked_kid(token: &str) -> Result<Option<String>, Refusal> {
    if token.len() > MAX_TOKEN_BYTES {
        return Err("the bearer token is longer than 8 KiB");
    }
    let header = decode_header(token).map_err(|_| NOT_VALID)?;
    // A token that declares critical extensions must be refused (RFC 7515): none is supported here.
    if header.crit.is_some() {
        return Err(NOT_VALID);
    }
    if !header.typ.as_deref().is_none_or(is_access_token) {
        return Err("the bearer token is not an access token: its typ must be JWT or at+jwt");
    }
    Ok(header.kid)
}

fn is_of_another_key<T>(result: &Result<T, Error>) -> bool {
    result.as_ref().is_err_and(|error| matches!(error.kind(), ErrorKind::InvalidSignature))
}

/// Tells whether the `typ` of a token permits its use as an access token. An ID token, for example, tells a program
/// who has signed in, and gives it no right to call a service (RFC 9068).
fn is_access_token(typ: &str) -> bool {
    let typ = typ.to_ascii_lowercase();
    // A media type may be written without its first part (RFC 7515).
    matches!(typ.strip_prefix("application/").unwrap_or(&typ), "jwt" | "at+jwt")
}

/// Enables the checks: by default the library checks only `exp`.
fn validation(config: &AuthConfig, algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm.into());
    validation.leeway = config.leeway_sec;
    validation.validate_nbf = true;
    validation.validate_aud = false;
    let mut required = vec!["exp", "sub"];
    if let Some(issuer) = &config.issuer {
        validation.set_issuer(&[issuer]);
        required.push("iss");
    }
    if let Some(audience) = &config.audience {
        validation.set_audience(&[audience]);
        validation.validate_aud = true;
        required.push("aud");
    }
    validation.set_required_spec_claims(&required);
    validation
}

/// Returns why a token is refused, without repeating anything from the token.
fn refusal(error: &Error) -> Refusal {
    match error.kind() {
        ErrorKind::ExpiredSignature => "the bearer token has expired",
        ErrorKind::ImmatureSignature => "the bearer token is not valid yet",
        ErrorKind::InvalidIssuer => "the bearer token has the wrong issuer",
        ErrorKind::InvalidAudience => "the bearer token has the wrong audience",
        ErrorKind::MissingRequiredClaim(_) => "the bearer token lacks a required claim",
        _ => NOT_VALID,
    }
}

impl From<Algorithm> for jsonwebtoken::Algorithm {
    fn from(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::HS256 => Self::HS256,
            Algorithm::RS256 => Self::RS256,
            Algorithm::ES256 => Self::ES256,
        }
    }
}
