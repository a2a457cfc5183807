use std::collections::HashMap;
use std::fs;
use std::path::Path;

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{DecodingKey, DecodingKeyKind};
use secrecy::ExposeSecret as _;
use simple_asn1::ASN1Block;

use super::signatures::{MIN_RSA_BYTES, significant};
use crate::config::{Algorithm, AuthConfig, ConfigError};

/// The keys that tokens are verified with.
pub(super) enum Keys {
    /// A single key, for tokens with any `kid`.
    One(DecodingKey),
    /// Keys by `kid`.
    Named(HashMap<String, DecodingKey>),
}

impl Keys {
    /// Reads the key from the settings, or from the file that they name.
    pub(super) fn load(config: &AuthConfig, algorithm: Algorithm) -> Result<Self, ConfigError> {
        let unused = match algorithm {
            Algorithm::HS256 => config.key_file.as_ref().map(|_| "key_file"),
            Algorithm::RS256 | Algorithm::ES256 => config.secret.as_ref().map(|_| "secret"),
        };
        if let Some(name) = unused {
            return Err(ConfigError::Unused { name, algorithm });
        }
        match algorithm {
            Algorithm::HS256 => secret(config).map(Self::One),
            Algorithm::RS256 | Algorithm::ES256 => key_file(config, algorithm),
        }
    }

    /// Returns the key that a token names.
    ///
    /// A token can only select among the configured keys. A token without a `kid` is accepted only if there
    /// is exactly one key.
    pub(super) fn find(&self, kid: Option<&str>) -> Option<&DecodingKey> {
        match (self, kid) {
            (Self::One(key), _) => Some(key),
            (Self::Named(keys), Some(kid)) => keys.get(kid),
            (Self::Named(keys), None) if keys.len() == 1 => keys.values().next(),
            (Self::Named(_), None) => None,
        }
    }
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

fn key_file(config: &AuthConfig, algorithm: Algorithm) -> Result<Keys, ConfigError> {
    let path = config.key_file.as_deref().ok_or(ConfigError::Missing {
        name: "key_file",
        hint: "the public key as PEM, or a JWKS file",
    })?;
    let text =
        fs::read(path).map_err(|source| ConfigError::KeyFile { path: path.to_owned(), source })?;
    let is_jwks = text.trim_ascii_start().starts_with(b"{");
    let keys = if is_jwks { jwks(&text, algorithm) } else { pem(&text, algorithm) };
    keys.map_err(|detail| unusable(path, algorithm, detail))
}

fn pem(text: &[u8], algorithm: Algorithm) -> Result<Keys, String> {
    let key = match algorithm {
        Algorithm::ES256 => DecodingKey::from_ec_pem(text),
        _ => DecodingKey::from_rsa_pem(text),
    };
    let key = key.map_err(|error| error.to_string())?;
    check_length(&key, algorithm)?;
    Ok(Keys::One(key))
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
