//! Makes and verifies signatures with `ring`, which the database driver links for TLS already.
//!
//! The providers that come with `jsonwebtoken` would bring a second implementation of everything.

use jsonwebtoken::crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils};
use jsonwebtoken::errors::{ErrorKind, Result, new_error};
use jsonwebtoken::signature::{Error, Signer, Verifier};
use jsonwebtoken::{Algorithm, DecodingKey, DecodingKeyKind, EncodingKey};
use ring::error::Unspecified;
use ring::hmac;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
    RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, RsaPublicKeyComponents,
    UnparsedPublicKey,
};

/// The shortest modulus of an RSA key, in bytes; RFC 7518 forbids shorter ones.
pub(super) const MIN_RSA_BYTES: usize = 2048 / 8;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: |algorithm, key| Ok(Box::new(TokenSigner::new(*algorithm, key)?)),
    verifier_factory: |algorithm, key| Ok(Box::new(SignatureVerifier::new(*algorithm, key)?)),
    // For creating JWKs, which the service does not do.
    key_utils: KeyUtils::new_unimplemented(),
};

/// Makes `jsonwebtoken` use `ring`, in the whole process.
pub(crate) fn install() {
    // Only the first call has an effect.
    let _ = PROVIDER.install_default();
}

struct TokenSigner {
    algorithm: Algorithm,
    key: PrivateKey,
}

/// A key in the form in which `ring` takes it.
enum PrivateKey {
    Secret(hmac::Key),
    Rsa(Box<RsaKeyPair>),
    Ec(EcdsaKeyPair),
    Ed(Ed25519KeyPair),
}

impl TokenSigner {
    fn new(algorithm: Algorithm, key: &EncodingKey) -> Result<Self> {
        let unusable = |_| new_error(ErrorKind::InvalidKeyFormat);
        let bytes = key.as_bytes();
        let key = match algorithm {
            Algorithm::HS256 => PrivateKey::Secret(hmac::Key::new(hmac::HMAC_SHA256, bytes)),
            Algorithm::RS256 => {
                PrivateKey::Rsa(Box::new(RsaKeyPair::from_der(bytes).map_err(unusable)?))
            }
            Algorithm::ES256 => {
                let (form, random) = (&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
                PrivateKey::Ec(EcdsaKeyPair::from_pkcs8(form, bytes, random).map_err(unusable)?)
            }
            // Receipts only: no token is accepted with this algorithm.
            Algorithm::EdDSA => {
                // The usual tools write keys without their public half.
                PrivateKey::Ed(Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes).map_err(unusable)?)
            }
            _ => return Err(new_error(ErrorKind::UnsupportedAlgorithm)),
        };
        Ok(Self { algorithm, key })
    }
}

impl PrivateKey {
    fn sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Unspecified> {
        match self {
            Self::Secret(key) => Ok(hmac::sign(key, message).as_ref().to_vec()),
            Self::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), message, &mut signature)?;
                Ok(signature)
            }
            Self::Ec(key) => Ok(key.sign(&SystemRandom::new(), message)?.as_ref().to_vec()),
            Self::Ed(key) => Ok(key.sign(message).as_ref().to_vec()),
        }
    }
}

impl Signer<Vec<u8>> for TokenSigner {
    fn try_sign(&self, message: &[u8]) -> std::result::Result<Vec<u8>, Error> {
        self.key.sign(message).map_err(|_| Error::new())
    }
}

impl JwtSigner for TokenSigner {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

struct SignatureVerifier {
    algorithm: Algorithm,
    key: PublicKey,
}

impl SignatureVerifier {
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Self> {
        Ok(Self { algorithm, key: PublicKey::new(algorithm, key)? })
    }
}

/// A key in the form in which `ring` takes it.
enum PublicKey {
    Secret(hmac::Key),
    Unparsed(UnparsedPublicKey<Vec<u8>>),
    Rsa(RsaPublicKeyComponents<Vec<u8>>),
}

impl PublicKey {
    fn new(algorithm: Algorithm, key: &DecodingKey) -> Result<Self> {
        if key.family() != algorithm.family() {
            return Err(new_error(ErrorKind::InvalidKeyFormat));
        }
        match (algorithm, key.kind()) {
            (Algorithm::HS256, DecodingKeyKind::SecretOrDer(secret)) => {
                Ok(Self::Secret(hmac::Key::new(hmac::HMAC_SHA256, secret)))
            }
            (Algorithm::ES256, DecodingKeyKind::SecretOrDer(point)) => {
                Ok(Self::Unparsed(UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point.clone())))
            }
            (Algorithm::RS256, DecodingKeyKind::SecretOrDer(der)) => {
                Ok(Self::Unparsed(UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, der.clone())))
            }
            (Algorithm::RS256, DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let (n, e) = (significant(n).to_vec(), significant(e).to_vec());
                Ok(Self::Rsa(RsaPublicKeyComponents { n, e }))
            }
            _ => Err(new_error(ErrorKind::UnsupportedAlgorithm)),
        }
    }

    fn verify(&self, message: &[u8], signature: &[u8]) -> std::result::Result<(), Unspecified> {
        match self {
            Self::Secret(key) => hmac::verify(key, message, signature),
            Self::Unparsed(key) => key.verify(message, signature),
            Self::Rsa(key) => key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature),
        }
    }
}

impl Verifier<Vec<u8>> for SignatureVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), Error> {
        self.key.verify(message, signature).map_err(|_| Error::new())
    }
}

impl JwtVerifier for SignatureVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}

/// Returns a number without leading zeros, which some issuers write and `ring` refuses.
pub(super) fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}
