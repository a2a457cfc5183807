use std::net::{IpAddr, Ipv6Addr};

use axum::http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;

use crate::config::{ConfigError, ServerConfig};

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The address from which a connection comes; an extension of its requests.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub IpAddr);

/// The address for which a request is counted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CallerAddress(pub(crate) IpAddr);

/// The proxies whose word about the address of a caller is taken.
#[derive(Debug, Clone)]
pub(crate) struct TrustedProxies(Vec<IpNet>);

impl TrustedProxies {
    pub(crate) fn new(config: &ServerConfig) -> Result<Self, ConfigError> {
        let parse = |text: &String| {
            let network = text.parse().or_else(|_| text.parse::<IpAddr>().map(IpNet::from));
            network.map_err(|_| ConfigError::Proxy { network: text.clone() })
        };
        config.trusted_proxies.iter().map(parse).collect::<Result<_, _>>().map(Self)
    }

    pub(crate) fn contain(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.contains(&address.to_canonical()))
    }

    /// Returns the address of a caller: the last one in the chain of forwarders that is no trusted proxy.
    pub(crate) fn caller(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut caller = peer;
        let values = headers.get_all(X_FORWARDED_FOR).iter().map(HeaderValue::to_str);
        let values: Vec<_> = values.map(Result::unwrap_or_default).collect();
        let mut hops = values.iter().flat_map(|value| value.split(',')).rev();
        while self.contain(caller) {
            let Some(Ok(hop)) = hops.next().map(|hop| hop.trim().parse()) else { break };
            caller = hop;
        }
        network_of(caller)
    }
}

/// Returns the address for which a caller is counted: for IPv6 its network, because a caller has all of it.
pub(crate) fn network_of(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            const NETWORK: u128 = !0 << 64;
            Ipv6Addr::from_bits(address.to_bits() & NETWORK).into()
        }
        address @ IpAddr::V4(_) => address,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(proxies: &[&str], peer: &str, forwarded: &[&'static str]) -> String {
        let trusted_proxies = proxies.iter().map(ToString::to_string).collect();
        let config = ServerConfig { trusted_proxies, ..ServerConfig::default() };
        let mut headers = HeaderMap::new();
        for value in forwarded {
            headers.append(X_FORWARDED_FOR, HeaderValue::from_static(value));
        }
        let proxies = TrustedProxies::new(&config).unwrap();
        proxies.caller(peer.parse().unwrap(), &headers).to_string()
    }

    #[test]
    fn only_a_trusted_proxy_is_believed() {
        assert_eq!(caller(&[], "10.0.0.1", &["1.1.1.1"]), "10.0.0.1");
        assert_eq!(caller(&["10.0.0.0/8"], "10.0.0.1", &["1.1.1.1"]), "1.1.1.1");
        assert_eq!(caller(&["10.0.0.0/8"], "10.0.0.1", &[]), "10.0.0.1");
    }

    #[test]
    fn what_the_caller_itself_claims_does_not_count() {
        let proxies = ["10.0.0.0/8"];
        assert_eq!(caller(&proxies, "10.0.0.1", &["9.9.9.9, 1.1.1.1"]), "1.1.1.1");
        assert_eq!(caller(&proxies, "10.0.0.1", &["9.9.9.9", "1.1.1.1, 10.0.0.2"]), "1.1.1.1");
        assert_eq!(caller(&proxies, "10.0.0.1", &["1.1.1.1, nonsense"]), "10.0.0.1");
    }

    #[test]
    fn an_ipv6_caller_is_counted_by_its_network() {
        assert_eq!(caller(&[], "2001:db8::1:2:3:4", &[]), "2001:db8::");
        assert_eq!(caller(&["::ffff:0:0/96"], "::ffff:1.2.3.4", &[]), "1.2.3.4");
    }
}
