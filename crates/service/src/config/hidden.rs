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

/// Writes an address without its query and without a user and a password, which may be secrets.
pub fn without_secrets<S: Serializer>(
    url: &Option<String>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match url {
        Some(url) => serializer.serialize_some(&shown(url)),
        None => serializer.serialize_none(),
    }
}

fn shown(url: &str) -> String {
    let (address, query) = match url.split_once('?') {
        Some((address, _)) => (address, format!("?{HIDDEN}")),
        None => (url, String::new()),
    };
    let (scheme, rest) = match address.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), address),
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = authority
        .rsplit_once('@')
        .map_or_else(|| authority.to_owned(), |(_, host)| format!("{HIDDEN}@{host}"));
    format!("{scheme}{host}{path}{query}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_shown_without_its_secrets() {
        for (url, expected) in [
            ("https://u:p@e.org:4318/v1?key=t", "https://********@e.org:4318/v1?********"),
            ("https://e.org/a@b", "https://e.org/a@b"),
            ("https://e.org?u=a@b", "https://e.org?********"),
            ("e.org", "e.org"),
        ] {
            assert_eq!(shown(url), expected);
        }
    }
}
