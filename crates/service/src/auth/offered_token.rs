use axum::http::HeaderMap;
use axum::http::header::SEC_WEBSOCKET_PROTOCOL;

/// Returns the token among the offered subprotocols.
///
/// A browser cannot set headers on a WebSocket, but it can offer subprotocols.
pub(crate) fn offered_token(headers: &HeaderMap) -> Option<&str> {
    let offered = headers.get_all(SEC_WEBSOCKET_PROTOCOL).iter();
    let mut offered = offered.filter_map(|value| value.to_str().ok()).flat_map(|v| v.split(','));
    offered.find_map(|protocol| protocol.trim().strip_prefix("bearer."))
}
