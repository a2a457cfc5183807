use std::io;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::config::Limits;

/// Serves `app` until `shutdown` is cancelled, then finishes what it has accepted.
///
/// The calls under way at that moment get `limits.shutdown_grace_ms`; what is not done by then is
/// cut off. A client that does not send the head of its request within `limits.header_timeout_ms`
/// is hung up on.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    limits: &Limits,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = http_server(limits);
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _peer)) => {
                    let connection = connection(&server, stream, app.clone(), &graceful);
                    connections.spawn(connection);
                }
                Err(error) => rest_after(&error).await,
            },
        }
    }
    drop(listener);
    if tokio::time::timeout(limits.shutdown_grace(), graceful.shutdown()).await.is_err() {
        let unfinished = connections.len();
        tracing::warn!(unfinished, "shut down before every request was answered");
    }
    Ok(())
}

fn http_server(limits: &Limits) -> auto::Builder<TokioExecutor> {
    let mut server = auto::Builder::new(TokioExecutor::new()).http1_only();
    server
        .http1()
        // Without a timer every timeout of hyper is silently off.
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout());
    server
}

/// Serves one connection until either side closes it.
fn connection(
    server: &auto::Builder<TokioExecutor>,
    stream: TcpStream,
    app: Router,
    graceful: &GracefulShutdown,
) -> impl Future<Output = ()> + Send + use<> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
    let app = app.map_request(|request: Request<Incoming>| request.map(Body::new));
    let connection = server
        .serve_connection_with_upgrades(TokioIo::new(stream), TowerToHyperService::new(app))
        .into_owned();
    let connection = graceful.watch(connection);
    async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection broke");
        }
    }
}

/// Waits when the process has run out of sockets; single connections may fail at any time.
async fn rest_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::error!(%error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(500)).await;
}
