use std::net::SocketAddr;

use anyhow::{Result, ensure};
use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper::header::{CONTENT_TYPE, HOST};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

/// One connection that is kept open: no pool, no redirects, no cookies.
#[derive(Debug)]
pub(crate) struct Client {
    sender: Mutex<SendRequest<Full<Bytes>>>,
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        // Ends with the server or with the sender; a running request then fails.
        tokio::spawn(connection);
        Ok(Self { sender: Mutex::new(sender) })
    }

    /// Sends a request, and returns the body of the answer if it is a success.
    pub(super) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Bytes> {
        let mut sender = self.sender.lock().await;
        sender.ready().await?;
        let response = sender.send_request(request).await?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
        Ok(body)
    }

    /// Sends a request whose response is streamed; it uses up the connection.
    pub(super) async fn open(self, request: Request<Full<Bytes>>) -> Result<Incoming> {
        let response = self.sender.into_inner().send_request(request).await?;
        let status = response.status();
        ensure!(status.is_success(), "{status}");
        Ok(response.into_body())
    }
}

/// Makes a request with a JSON body, or with none.
pub(super) fn request(method: &str, path: &str, body: Bytes) -> Result<Request<Full<Bytes>>> {
    let request = Request::builder().method(method).uri(path).header(HOST, "localhost");
    let request = request.header(CONTENT_TYPE, "application/json");
    Ok(request.body(Full::new(body))?)
}
