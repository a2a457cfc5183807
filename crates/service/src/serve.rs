use std::io;
use std::pin::{Pin, pin};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_io_timeout::TimeoutWriter;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::config::Limits;
use crate::live::Shutdown;

/// Serves `app` until `shutdown` is cancelled, then finishes what it has accepted.
///
/// The calls under way at that moment get `limits.shutdown_grace_ms`; what is not done by then is
/// cut off. A client that does not send the head of a request within `limits.header_timeout_ms` is
/// hung up on, whether it has sent a part of it or nothing at all; so is one that accepts nothing of
/// its answer for `limits.write_timeout_ms`. Beyond `limits.connections`
/// clients wait to be accepted.
pub async fn serve(
    listener: TcpListener,
    app: Router,
    limits: &Limits,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let server = http_server(limits);
    let write_timeout = limits.write_timeout();
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            () = shutdown.cancelled() => break,
            Some(_ended) = connections.join_next() => {}
            accepted = listener.accept(), if connections.len() < limits.connections => match accepted {
                Ok((stream, _peer)) => {
                    let stream = prepared(stream, write_timeout);
                    let (server, app) = (server.clone(), app.clone());
                    connections.spawn(serve_connection(server, stream, app, shutdown.clone()));
                }
                Err(error) => rest_after(&error).await,
            },
        }
    }
    drop(listener);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_grace(), drained).await.is_err() {
        let unfinished = connections.len();
        tracing::warn!(unfinished, "shut down before every call was answered");
    }
    Ok(())
}

fn http_server(limits: &Limits) -> http1::Builder {
    let mut server = http1::Builder::new();
    server
        // Without a timer every timeout of hyper is silently off.
        .timer(TokioTimer::new())
        .header_read_timeout(limits.header_timeout());
    server
}

/// Sets how a connection writes.
fn prepared(stream: TcpStream, write_timeout: Duration) -> Pin<Box<TimeoutWriter<TcpStream>>> {
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot switch off Nagle's algorithm");
    }
    let mut stream = TimeoutWriter::new(stream);
    stream.set_timeout(Some(write_timeout));
    Box::pin(stream)
}

/// Serves one connection until either side closes it, the socket it may have become included, or until
/// its call is answered in a shutdown.
async fn serve_connection(
    server: http1::Builder,
    stream: Pin<Box<TimeoutWriter<TcpStream>>>,
    app: Router,
    shutdown: CancellationToken,
) {
    let to_stop = Shutdown::new(shutdown.clone());
    let told = to_stop.clone();
    let app = app.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        request.extensions_mut().insert(told.clone());
        request
    });
    let connection = server
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = shutdown.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "connection broke");
    }
    to_stop.released().await;
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
