use std::io::Write as _;
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::Context as _;
use axum::Router;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use service::Config;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::tools::Tools;
use crate::commands::serve::cancel_on_signal;

/// Serves the protocol over HTTP until the process is told to stop.
pub(super) async fn serve(address: SocketAddr, tools: Tools) -> anyhow::Result<()> {
    let listener = TcpListener::bind(address).await;
    let listener = listener.with_context(|| format!("cannot listen on {address}"))?;
    let address = listener.local_addr()?;
    let stop = CancellationToken::new();
    let config = StreamableHttpServerConfig::default()
        .with_cancellation_token(stop.child_token())
        // Nothing is remembered between requests: a client goes on after a restart, and takes no memory while it is silent.
        .with_legacy_session_mode(false)
        // An event of a stream may be larger than clients read.
        .with_json_response(true)
        // A page that a browser shows must not use the tools: it would send no token, but a service may need none.
        .with_allowed_origins([format!("http://{address}")]);
    let sessions = Arc::new(NeverSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(tools.clone()), sessions, config);
    let router = Router::new().nest_service("/mcp", service);
    writeln!(std::io::stdout(), "listening on http://{address}/mcp")?;
    let signals = tokio::spawn(cancel_on_signal(stop.clone()));
    // With the limits of the service for connections that are slow, silent or too many.
    let served = service::serve(listener, router, &Config::default(), stop).await;
    signals.abort();
    Ok(served?)
}
