use secrecy::SecretString;
use serde::Serializer;

/// What is written in the place of a secret.
const HIDDEN: &str = "********";

/// Writes that a secret is set, and not the secret.
pub fn hidden<S: Serializer>(
    secret: &Option<SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match secret {
        Some(_) => serializer.serialize_some(HIDDEN),
        None => serializer.serialize_none(),
    }
}

/// Writes an address without its query, which may hold a secret.
#[expect(clippy::ref_option, reason = "serde passes the field")]
pub(super) fn without_query<S: Serializer>(
    url: &Option<String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match url
        .as_ref()
        .map(|url| url.split_once('?').map_or(url.clone(), |(url, _)| format!("{url}?{HIDDEN}")))
    {
        Some(url) => serializer.serialize_some(&url),
        None => serializer.serialize_none(),
    }
}
