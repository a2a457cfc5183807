//! Makes tokens for people and programs that have no issuer.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use jsonwebtoken::{EncodingKey, Header, encode};
use records::{AppId, Clock as _, Ids as _, SystemClock, TeamId, UserId, Uuid7Ids};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::jwt::Verifier;
use crate::config::{Algorithm, AuthConfig, AuthMode, ConfigError};

/// A token to be made.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The user, or the name of a program.
    pub subject: UserId,
    /// `service`, `operator` or `support`; `None` for a user.
    pub role: Option<&'static str>,
    /// The team that the user acts for.
    pub team: Option<TeamId>,
    /// The apps that the bearer may use; `None` for all.
    pub apps: Option<Vec<AppId>>,
    /// How long the token is valid.
    pub lifetime: Duration,
    /// The file with the secret or the private key; by default the secret of the settings.
    pub key: Option<PathBuf>,
    /// The name of the key, if the service knows its keys by names.
    pub kid: Option<String>,
}

/// Why no token can be made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MintError {
    /// The service takes no tokens.
    #[error("auth.mode is \"none\", so the service takes no tokens: set auth.mode = \"jwt\"")]
    NoTokens,
    /// The settings of authentication cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The settings name public keys only.
    #[error(
        "the settings name public keys, which can verify a token and not sign it: name the file of the private key with --key"
    )]
    PublicSettings,
    /// The file holds public keys.
    #[error(
        "{} holds a public key, which can verify a token and not sign it: name the file of the private key", .0.display()
    )]
    PublicKey(PathBuf),
    /// The file cannot be read.
    #[error("failed to read {}", .0.display())]
    File(PathBuf, #[source] std::io::Error),
    /// The file holds no key for the algorithm.
    #[error("{} has no usable private {algorithm:?} key: it must be PEM, in PKCS#8", path.display())]
    Unusable {
        /// The file.
        path: PathBuf,
        /// The algorithm of the settings.
        algorithm: Algorithm,
    },
    /// The key fits to no key of the settings.
    #[error(
        "the service would refuse the token ({0}): is this the key of these settings? see also --kid"
    )]
    Refused(String),
}

impl NewToken {
    /// Makes the token, and checks that a service with these settings accepts it. Keys at an address are not fetched for
    /// that.
    pub async fn mint(&self, config: &AuthConfig) -> Result<String, MintError> {
        if config.mode == AuthMode::None {
            return Err(MintError::NoTokens);
        }
        let verifier = Verifier::new(config)?;
        let algorithm = verifier.algorithm();
        let key = self.signing_key(config, algorithm)?;
        let header = Header { kid: self.kid.clone(), ..Header::new(algorithm.into()) };
        let now = SystemClock.now().timestamp();
        let lifetime = i64::try_from(self.lifetime.as_secs()).unwrap_or(i64::MAX);
        let mut claims = json!({
            "sub": self.subject,
            "iat": now,
            "exp": now.saturating_add(lifetime),
            "jti": Uuid7Ids.mint("token_"),
            "apps": self.apps.as_ref().map_or_else(|| json!("*"), |apps| json!(apps)),
        });
        let optional = [
            ("role", self.role),
            ("team", self.team.as_ref().map(TeamId::as_str)),
            ("iss", config.issuer.as_deref()),
            ("aud", config.audience.as_deref()),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                claims[name] = value.into();
            }
        }
        let path = self.key.clone().unwrap_or_default();
        let unusable = |_| MintError::Unusable { path, algorithm };
        let token = encode(&header, &claims, &key).map_err(unusable)?;
        if config.jwks_url.is_none() {
            let accepted = verifier.verify(&token).await;
            accepted.map_err(|problem| MintError::Refused(problem.detail().to_owned()))?;
        }
        Ok(token)
    }

    fn signing_key(
        &self,
        config: &AuthConfig,
        algorithm: Algorithm,
    ) -> Result<EncodingKey, MintError> {
        let Some(path) = &self.key else {
            let secret = config.secret.as_ref().filter(|_| algorithm == Algorithm::HS256);
            let secret = secret.ok_or(MintError::PublicSettings)?;
            return Ok(EncodingKey::from_secret(secret.expose_secret().as_bytes()));
        };
        let content = fs::read(path).map_err(|error| MintError::File(path.clone(), error))?;
        let unusable = |_| MintError::Unusable { path: path.clone(), algorithm };
        match algorithm {
            Algorithm::HS256 => Ok(EncodingKey::from_secret(content.trim_ascii_end())),
            _ if is_public(&content) => Err(MintError::PublicKey(path.clone())),
            Algorithm::RS256 => EncodingKey::from_rsa_pem(&content).map_err(unusable),
            Algorithm::ES256 => EncodingKey::from_ec_pem(&content).map_err(unusable),
        }
    }
}

/// Tells whether a file is one that `auth.key_file` may name.
fn is_public(content: &[u8]) -> bool {
    let text = String::from_utf8_lossy(content);
    text.contains("-----BEGIN PUBLIC KEY-----") || text.trim_start().starts_with('{')
}
