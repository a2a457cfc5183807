use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::header::CONNECTION;
use axum::http::{HeaderValue, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::io::InspectReader;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt as _;

use crate::admission::{Peer, Shares, TrustedProxies, network_of};
use crate::config::{Config, LimitsConfig};
use crate::head_timer::HeadTimer;
use crate::live::Shutdown;
use crate::paced_stream::PacedStream;
use crate::tls::{Certificate, Tls, handshake_failure};

/// Serves `app` on one listener; see [`serve_all`].
pub async fn serve(
    listener: TcpListener,
    app: Router,
    config: &Config,
    shutdown: CancellationToken,
) -> io::Result<()> {
    serve_all(vec![(listener, app)], config, shutdown).await
}

/// Serves on each listener its router until `shutdown` is cancelled and `server.drain_ms` have passed, then drains the requests in flight.
///
/// Until then readiness is 503, so that balancers send new requests elsewhere, and whatever still arrives is
/// served. Draining ends after `limits.shutdown_grace_ms`; requests that are still running then are aborted.
///
/// The server closes the connection of a client that does not send the complete head of a request within
/// `limits.header_timeout_ms`, or the handshake of TLS before it, of one that is silent for `limits.idle_timeout_ms` after a response, and of one that
/// keeps the service waiting and accepts fewer than `limits.min_bytes_per_sec` of its response over
/// `limits.write_timeout_ms`. Beyond `limits.connections` open connections, further clients wait to be accepted;
/// beyond `limits.connections_per_address`, those of one address are refused, unless it is a trusted proxy. The limits
/// are those of all listeners together.
pub async fn serve_all(
    listeners: Vec<(TcpListener, Router)>,
    config: &Config,
    shutdown: CancellationToken,
) -> io::Result<()> {
    let limits = &config.limits;
    let proxies = TrustedProxies::new(&config.server).map_err(io::Error::other)?;
    let tls = Tls::start(&config.server.tls).map_err(io::Error::other)?;
    let of_addresses = Arc::new(Shares::new(limits.connections_per_address));
    let pace = limits.pace();
    let mut listeners = Listeners { listeners, next: 0 };
    let mut connections = JoinSet::new();
    let closing = CancellationToken::new();
    let mut announced = pin!(async {
        shutdown.cancelled().await;
        tokio::time::sleep(config.server.drain()).await;
    });
    loop {
        tokio::select! {
            () = &mut announced => break,
            Some(_ended) = connections.join_next() => {}
            accepted = listeners.accept(), if connections.len() < limits.connections => match accepted {
                Ok((stream, peer, app)) => {
                    let address = network_of(peer.ip());
                    let share = of_addresses.try_take(&address, 1);
                    if share.is_none() && !proxies.contain(peer.ip()) {
                        tracing::debug!(%address, "refused a connection: its address has too many");
                        continue;
                    }
                    configure(&stream);
                    let stream = PacedStream::new(stream, pace);
                    let head = HeadTimer::new(limits.header_timeout());
                    let server = http_server(limits, head.clone());
                    let shutdown = Shutdown::new(shutdown.clone(), closing.clone());
                    let (closing, tls) = (closing.clone(), tls.clone());
                    let certificate = tls.as_ref().map(Tls::certificate);
                    let timeout = limits.header_timeout();
                    connections.spawn(async move {
                        let ready = handshake(tls, stream, timeout);
                        let ready = closing.run_until_cancelled(ready).await.flatten();
                        let Some(stream) = ready else { return };
                        let stream =
                            InspectReader::new(stream, move |_: &[u8]| head.bytes_arrived());
                        let known = Known { shutdown, peer: Peer(peer.ip()), certificate };
                        serve_connection(server, stream, app, known, closing).await;
                        drop(share);
                    });
                }
                Err(error) => pause_after(&error).await,
            },
        }
    }
    closing.cancel();
    drop(listeners);
    let drained = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(limits.shutdown_grace(), drained).await.is_err() {
        let unfinished = connections.len();
        tracing::warn!(unfinished, "shut down before all requests were finished");
    }
    Ok(())
}

/// The listeners of a service, and what each serves.
struct Listeners {
    listeners: Vec<(TcpListener, Router)>,
    /// The index of the listener whose turn it is.
    next: usize,
}

impl Listeners {
    /// Accepts a connection. The listeners take turns, so that a busy one does not keep clients of another waiting.
    async fn accept(&mut self) -> io::Result<(TcpStream, SocketAddr, Router)> {
        poll_fn(|context| {
            let count = self.listeners.len();
            for index in (self.next..count).chain(0..self.next) {
                let (listener, app) = &self.listeners[index];
                if let Poll::Ready(accepted) = listener.poll_accept(context) {
                    self.next = (index + 1) % count;
                    let accepted = accepted.map(|(stream, peer)| (stream, peer, app.clone()));
                    return Poll::Ready(accepted);
                }
            }
            Poll::Pending
        })
        .await
    }
}

/// Returns the stream on which requests arrive; `None` if the client does not finish the handshake of TLS in time.
async fn handshake<S>(
    tls: Option<Tls>,
    stream: S,
    within: Duration,
) -> Option<Either<S, Box<TlsStream<S>>>>
where
    S: AsyncRead + AsyncWrite + Unpin,
{
    let Some(tls) = tls else { return Some(Either::Left(stream)) };
    match tokio::time::timeout(within, tls.accept(stream)).await {
        Ok(Ok(stream)) => Some(Either::Right(Box::new(stream))),
        Ok(Err(error)) => {
            let error = handshake_failure(&error);
            tracing::debug!(error, "refused a connection: the handshake of TLS failed");
            None
        }
        Err(_) => None,
    }
}

fn http_server(limits: &LimitsConfig, timer: HeadTimer) -> http1::Builder {
    let mut server = http1::Builder::new();
    server.timer(timer).header_read_timeout(limits.idle_timeout());
    server
}

/// Disables Nagle's algorithm, and bounds what the kernel takes of a response before its client accepts it.
///
/// By default the kernel takes some megabytes, for each connection, and a client that accepts nothing looks
/// fast until they are full.
fn configure(stream: &TcpStream) {
    const SEND_BUFFER_BYTES: usize = 256 << 10;
    let socket = SockRef::from(stream);
    let configured =
        socket.set_send_buffer_size(SEND_BUFFER_BYTES).and_then(|()| stream.set_nodelay(true));
    if let Err(error) = configured {
        tracing::debug!(%error, "failed to configure a connection");
    }
}

/// What is known of a connection, for its requests.
struct Known {
    shutdown: Shutdown,
    peer: Peer,
    certificate: Option<Certificate>,
}

/// Serves one connection, and the WebSocket it may become, until either side closes it. After a shutdown
/// the connection ends with its current request.
async fn serve_connection(
    server: http1::Builder,
    stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    app: Router,
    known: Known,
    closing: CancellationToken,
) {
    let shutdown = known.shutdown.clone();
    let for_responses = shutdown.clone();
    let app = app.map_request(move |request: Request<Incoming>| {
        let mut request = request.map(Body::new);
        let extensions = request.extensions_mut();
        extensions.insert(known.shutdown.clone());
        extensions.insert(known.peer);
        if let Some(certificate) = &known.certificate {
            extensions.insert(certificate.clone());
        }
        request
    });
    let app = app.map_response(move |mut response: Response<Body>| {
        // The client opens its next connection elsewhere, and does not send a request just when this one is closed.
        if for_responses.is_announced() && response.status() != StatusCode::SWITCHING_PROTOCOLS {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        response
    });
    let connection = server
        .serve_connection(TokioIo::new(stream), TowerToHyperService::new(app))
        .with_upgrades();
    let mut connection = pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "the connection failed");
    }
    shutdown.sockets_ended().await;
}

/// Pauses after a failed accept, unless only that one connection has failed.
///
/// When the process has run out of file descriptors, every accept fails at once: without a pause the loop
/// would use a whole core.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    tracing::error!(%error, "failed to accept a connection");
    tokio::time::sleep(Duration::from_millis(500)).await;
}
