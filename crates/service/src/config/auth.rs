use std::path::PathBuf;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

use super::{hidden, listed, unless_empty, without_secrets};

/// The settings of authentication.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// Whether callers must send a token.
    pub mode: AuthMode,
    /// The only algorithm that tokens may be signed with.
    pub algorithm: Option<Algorithm>,
    /// The shared secret of HS256, at least 32 bytes.
    #[serde(deserialize_with = "unless_empty", serialize_with = "hidden")]
    pub secret: Option<SecretString>,
    /// The file with the public keys of RS256 or ES256: PEM or JWKS. It is read again when it changes.
    #[serde(deserialize_with = "unless_empty")]
    pub key_file: Option<PathBuf>,
    /// The address at which the issuer lists its public keys as JWKS: https, or http on a loopback address.
    #[serde(deserialize_with = "unless_empty", serialize_with = "without_secrets")]
    pub jwks_url: Option<String>,
    /// How often the keys are fetched, in seconds, from 1 to 86,400.
    pub jwks_refresh_sec: u64,
    /// The `iss` that every token must have; not checked if missing.
    #[serde(deserialize_with = "unless_empty")]
    pub issuer: Option<String>,
    /// The `aud` that every token must have; not checked if missing.
    #[serde(deserialize_with = "unless_empty")]
    pub audience: Option<String>,
    /// The tolerated clock difference in seconds for `exp` and `nbf`, from 0 to 60.
    pub leeway_sec: u64,
    /// The origins whose pages may call the API and open a WebSocket, besides the origin of the service, such
    /// as `https://app.example.org`.
    #[serde(deserialize_with = "listed")]
    pub allowed_origins: Vec<String>,
    /// How people sign in, in a browser.
    pub sign_in: SignInConfig,
}

impl Default for AuthConfig {
    fn default() -> Self {
        Self {
            mode: AuthMode::None,
            algorithm: None,
            secret: None,
            key_file: None,
            jwks_url: None,
            jwks_refresh_sec: 300,
            issuer: None,
            audience: None,
            leeway_sec: 5,
            allowed_origins: Vec::new(),
            sign_in: SignInConfig::default(),
        }
    }
}

/// Whether callers must send a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AuthMode {
    /// Open mode: every caller may do everything. Allowed only on a loopback address.
    None,
    /// Every request, except for health, must have a JSON Web Token.
    Jwt,
}

/// A signature algorithm.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Algorithm {
    /// HMAC with SHA-256 and a shared secret.
    HS256,
    /// RSA with SHA-256.
    RS256,
    /// ECDSA on P-256 with SHA-256.
    ES256,
}

/// The settings of sign-in by OIDC. It is off without an issuer.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SignInConfig {
    /// The address of the issuer, which has its description below `/.well-known/openid-configuration`: https, or
    /// http on a loopback address.
    #[serde(deserialize_with = "unless_empty")]
    pub issuer: Option<String>,
    /// The name under which the issuer knows this service.
    pub client_id: String,
    /// The secret that the issuer has given to this service; none for a public client.
    #[serde(deserialize_with = "unless_empty", serialize_with = "hidden")]
    pub client_secret: Option<SecretString>,
    /// The algorithm of the ID tokens: RS256 or ES256.
    pub algorithm: Algorithm,
    /// The address under which browsers reach this service, such as `https://chats.example.org`: https, or http on a
    /// loopback address, without a path. The issuer sends them back to `/api/sign-in/callback` below it.
    pub public_url: String,
    /// The scopes that are requested besides `openid`.
    #[serde(deserialize_with = "listed")]
    pub scopes: Vec<String>,
    /// How long a person stays signed in, in minutes, from 1 to 43,200.
    pub session_minutes: u64,
}

impl Default for SignInConfig {
    fn default() -> Self {
        Self {
            issuer: None,
            client_id: String::new(),
            client_secret: None,
            algorithm: Algorithm::RS256,
            public_url: String::new(),
            scopes: Vec::new(),
            session_minutes: 480,
        }
    }
}
