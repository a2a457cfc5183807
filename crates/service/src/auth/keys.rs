use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::slice;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{DecodingKey, DecodingKeyKind};
use ring::digest::{Context, SHA256};
use secrecy::ExposeSecret as _;
use simple_asn1::ASN1Block;

use super::signatures::{MIN_RSA_BYTES, significant};
use crate::config::{Algorithm, AuthConfig, ConfigError};
use crate::outgoing::OutgoingUrl;

/// Where the keys come from.
#[derive(Debug, Clone)]
pub(super) enum KeySource {
    Settings,
    File(PathBuf),
    Url(OutgoingUrl),
}

/// The keys that tokens are verified with.
pub(super) enum Keys {
    /// Keys without names, each for tokens with any `kid`.
    Unnamed(Vec<DecodingKey>),
    /// Keys by `kid`.
    Named(HashMap<String, DecodingKey>),
}

impl Keys {
    /// Reads the keys from the settings, or from the file that they name. There are none yet if the settings
    /// name a URL.
    pub(super) fn load(
        config: &AuthConfig,
        algorithm: Algorithm,
    ) -> Result<(KeySource, Self), ConfigError> {
        let AuthConfig { key_file, jwks_url, .. } = config;
        let unused = match algorithm {
            Algorithm::HS256 => {
                let url = jwks_url.as_ref().map(|_| "jwks_url");
                key_file.as_ref().map(|_| "key_file").or(url)
            }
            Algorithm::RS256 | Algorithm::ES256 => config.secret.as_ref().map(|_| "secret"),
        };
        if let Some(name) = unused {
            return Err(ConfigError::Unused { name, algorithm });
        }
        match (algorithm, key_file, jwks_url) {
            (Algorithm::HS256, ..) => {
                Ok((KeySource::Settings, Self::Unnamed(vec![secret(config)?])))
            }
            (_, Some(_), Some(_)) => Err(ConfigError::TwoKeySources),
            (_, None, Some(url)) => {
                let url =
                    OutgoingUrl::parse(url).map_err(|detail| ConfigError::JwksUrl { detail })?;
                Ok((KeySource::Url(url), Self::Unnamed(Vec::new())))
            }
            (_, Some(path), None) => {
                Ok((KeySource::File(path.clone()), read_file(path, algorithm)?))
            }
            (_, None, None) => Err(ConfigError::Missing {
                name: "key_file",
                hint: "public keys as PEM, or a JWKS file; or set auth.jwks_url",
            }),
        }
    }

    /// Returns the keys that a token may be signed with.
    ///
    /// A token can only select among the configured keys. A token without a `kid` is accepted only if there
    /// is exactly one key with a name.
    pub(super) fn candidates(&self, kid: Option<&str>) -> &[DecodingKey] {
        let named = match (self, kid) {
            (Self::Unnamed(keys), _) => return keys,
            (Self::Named(keys), Some(kid)) => keys.get(kid),
            (Self::Named(keys), None) if keys.len() == 1 => keys.values().next(),
            (Self::Named(_), None) => None,
        };
        named.map_or(&[], slice::from_ref)
    }

    /// Tells whether a token with this `kid` may be signed with one of the keys.
    pub(super) fn has(&self, kid: Option<&str>) -> bool {
        !self.candidates(kid).is_empty()
    }

    /// Tells whether one of the keys has this digest.
    pub(super) fn contains(&self, digest: &str) -> bool {
        let has_digest = |key: &DecodingKey| digest_of(key) == digest;
        match self {
            Self::Unnamed(keys) => keys.iter().any(has_digest),
            Self::Named(keys) => keys.values().any(has_digest),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        match self {
            Self::Unnamed(keys) => keys.is_empty(),
            Self::Named(keys) => keys.is_empty(),
        }
    }
}

/// Returns a digest by which a public key is recognised, whatever its name.
pub(super) fn digest_of(key: &DecodingKey) -> String {
    let mut context = Context::new(&SHA256);
    match key.kind() {
        DecodingKeyKind::SecretOrDer(bytes) => context.update(bytes),
        DecodingKeyKind::RsaModulusExponent { n, e } => {
            context.update(n);
            context.update(e);
        }
    }
    URL_SAFE_NO_PAD.encode(context.finish())
}

fn secret(config: &AuthConfig) -> Result<DecodingKey, ConfigError> {
    const MIN_BYTES: usize = 32;
    let secret = config.secret.as_ref().ok_or(ConfigError::Missing {
        name: "secret",
        hint: "HS256 needs at least 32 random bytes",
    })?;
    let secret = secret.expose_secret().as_bytes();
    if secret.len() < MIN_BYTES {
        return Err(ConfigError::WeakSecret { bytes: secret.len() });
    }
    Ok(DecodingKey::from_secret(secret))
}

fn read_file(path: &Path, algorithm: Algorithm) -> Result<Keys, ConfigError> {
    let text =
        fs::read(path).map_err(|source| ConfigError::KeyFile { path: path.to_owned(), source })?;
    parse(&text, algorithm).map_err(|detail| unusable(path, algorithm, detail))
}

/// Reads a JWKS, or public keys as PEM.
pub(super) fn parse(text: &[u8], algorithm: Algorithm) -> Result<Keys, String> {
    if text.trim_ascii_start().starts_with(b"{") {
        return jwks(text, algorithm);
    }
    let text = str::from_utf8(text).map_err(|_| "it is neither JWKS nor PEM")?;
    // At most one block if the text has no end of a block: the parser says what is wrong with it.
    let blocks = text.split_inclusive(END_OF_PEM).filter(|block| !block.trim().is_empty());
    let keys =
        blocks.map(|block| pem(block.as_bytes(), algorithm)).collect::<Result<Vec<_>, _>>()?;
    if keys.is_empty() || keys.len() > MAX_PEM_KEYS {
        return Err(format!("it has {} keys: there must be from 1 to {MAX_PEM_KEYS}", keys.len()));
    }
    Ok(Keys::Unnamed(keys))
}

const END_OF_PEM: &str = "-----END PUBLIC KEY-----";
/// The most keys without names: a signature is checked with each of them.
const MAX_PEM_KEYS: usize = 8;

fn pem(text: &[u8], algorithm: Algorithm) -> Result<DecodingKey, String> {
    let key = match algorithm {
        Algorithm::ES256 => DecodingKey::from_ec_pem(text),
        _ => DecodingKey::from_rsa_pem(text),
    };
    let key = key.map_err(|error| error.to_string())?;
    check_length(&key, algorithm)?;
    Ok(key)
}

fn jwks(text: &[u8], algorithm: Algorithm) -> Result<Keys, String> {
    let set: JwkSet = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let mut keys = HashMap::new();
    for jwk in set.keys.iter().filter(|jwk| fits(jwk, algorithm)) {
        let key = DecodingKey::from_jwk(jwk).map_err(|error| error.to_string())?;
        check_length(&key, algorithm)?;
        let kid = jwk.common.key_id.clone().unwrap_or_default();
        if keys.insert(kid.clone(), key).is_some() {
            return Err(format!("two keys have the kid {kid:?}"));
        }
    }
    if keys.is_empty() {
        return Err("it has no key for this algorithm".to_owned());
    }
    Ok(Keys::Named(keys))
}

/// Refuses an RSA key that is too short: no signature would ever be accepted.
fn check_length(key: &DecodingKey, algorithm: Algorithm) -> Result<(), String> {
    if algorithm != Algorithm::RS256 {
        return Ok(());
    }
    match modulus_bytes(key) {
        Some(MIN_RSA_BYTES..) => Ok(()),
        Some(bytes) => Err(format!("the RSA key has {} bits; at least 2048 are needed", 8 * bytes)),
        None => Err("it is not an RSA key".to_owned()),
    }
}

fn modulus_bytes(key: &DecodingKey) -> Option<usize> {
    match key.kind() {
        DecodingKeyKind::RsaModulusExponent { n, .. } => Some(significant(n).len()),
        DecodingKeyKind::SecretOrDer(der) => match simple_asn1::from_der(der).ok()?.first()? {
            ASN1Block::Sequence(_, numbers) => match numbers.first()? {
                ASN1Block::Integer(_, n) => Some(significant(&n.to_signed_bytes_be()).len()),
                _ => None,
            },
            _ => None,
        },
    }
}

/// Tells whether a key may verify signatures of the algorithm.
fn fits(jwk: &Jwk, algorithm: Algorithm) -> bool {
    let is_of_type = match (&jwk.algorithm, algorithm) {
        (AlgorithmParameters::RSA(_), Algorithm::RS256) => true,
        (AlgorithmParameters::EllipticCurve(ec), Algorithm::ES256) => {
            ec.curve == EllipticCurve::P256
        }
        _ => false,
    };
    let algorithm = jsonwebtoken::Algorithm::from(algorithm);
    let named = jwk.common.key_algorithm.map(|named| named.to_string());
    let allows_algorithm = named.is_none_or(|named| named == format!("{algorithm:?}"));
    let purpose = jwk.common.public_key_use.as_ref();
    is_of_type && allows_algorithm && purpose.is_none_or(|p| *p == PublicKeyUse::Signature)
}

fn unusable(path: &Path, algorithm: Algorithm, detail: String) -> ConfigError {
    ConfigError::Key { path: path.to_owned(), algorithm, detail }
}
