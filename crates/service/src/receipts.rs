//! Signs the receipts of erasures.

use std::fmt;
use std::fs;

use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use serde::Serialize;

use crate::auth::signatures;
use crate::config::{ConfigError, ErasureConfig};

/// The type of a signed receipt, so that no library takes it for a token.
const TYPE: &str = "reprise-erasure";

/// Signs receipts with the key of the settings, if they name one.
pub struct ReceiptSigner(Option<EncodingKey>);

impl ReceiptSigner {
    /// Reads the key, and tries it.
    pub fn new(config: &ErasureConfig) -> Result<Self, ConfigError> {
        let Some(path) = &config.signing_key_file else { return Ok(Self(None)) };
        let setting = "erasure.signing_key_file";
        let unreadable =
            |source| ConfigError::SigningKeyFile { setting, path: path.clone(), source };
        let content = fs::read(path).map_err(unreadable)?;
        signatures::install();
        let signer = Self(EncodingKey::from_ed_pem(&content).ok());
        // A key that could not be read, or is of another kind, signs nothing.
        signer.sign(&()).ok_or_else(|| ConfigError::SigningKey { setting, path: path.clone() })?;
        Ok(signer)
    }

    /// Returns a receipt as a JSON Web Signature; `None` without a key.
    pub(crate) fn sign(&self, receipt: &impl Serialize) -> Option<String> {
        let header = Header { typ: Some(TYPE.to_owned()), ..Header::new(Algorithm::EdDSA) };
        // It fails with an unusable key only, and the key was tried.
        encode(&header, receipt, self.0.as_ref()?).ok()
    }
}

impl fmt::Debug for ReceiptSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let has_key = self.0.is_some();
        f.debug_struct("ReceiptSigner").field("has_key", &has_key).finish_non_exhaustive()
    }
}
