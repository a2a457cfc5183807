use std::net::{Ipv4Addr, SocketAddr};

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

/// Reads an address to listen on, such as `127.0.0.1:8080`; `localhost` means 127.0.0.1.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let on_localhost = |port: &str| Some((Ipv4Addr::LOCALHOST, port.parse().ok()?).into());
    let address = match text.strip_prefix("localhost:") {
        Some(port) => on_localhost(port),
        None => text.parse().ok(),
    };
    address.ok_or_else(|| {
        format!("{text:?} is no address: write one such as 127.0.0.1:8080 or localhost:8080")
    })
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<SocketAddr, D::Error> {
    listen_address(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// Reads an address that may be missing; an empty text counts as missing, because an environment variable cannot be null.
pub(super) fn optional<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<SocketAddr>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?.filter(|text| !text.is_empty());
    text.map(|text| listen_address(&text).map_err(D::Error::custom)).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn localhost_is_the_loopback_address() {
        assert_eq!(listen_address("localhost:8080"), Ok(([127, 0, 0, 1], 8080).into()));
        assert_eq!(listen_address("[::1]:80").map(|address| address.port()), Ok(80));
        for wrong in ["localhost", "localhost:", "localhost:99999", "example.org:80", "8080", ""] {
            assert!(listen_address(wrong).is_err_and(|said| said.contains("127.0.0.1:8080")));
        }
    }
}
