//! A client of the WebSocket of a chat.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderMap;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::serve::Server;

const MAX_WAIT: Duration = Duration::from_secs(20);

/// The path of the socket of chat `c1` of `acme_corp`, as Alice.
pub(crate) const JOIN: &str = "/ws/Generator/acme_corp/c1/alice";

pub(crate) struct Socket {
    pub(crate) stream: WebSocketStream<TcpStream>,
    pub(crate) answer: HeaderMap,
}

/// What a client receives on a socket.
#[derive(Debug, PartialEq)]
pub(crate) enum Received {
    Frame(Value),
    /// The code it was closed with.
    Closed(u16),
    /// The connection failed.
    Broken,
}

impl Socket {
    /// Opens a socket, or returns the status of the refusal.
    pub(crate) async fn try_open(
        server: &Server,
        path: &str,
        headers: &[(&'static str, &str)],
    ) -> Result<Self, u16> {
        let mut request = format!("ws://{}{path}", server.address).into_client_request().unwrap();
        for (name, value) in headers {
            request.headers_mut().append(*name, value.parse().unwrap());
        }
        match client_async(request, server.connect().await).await {
            Ok((stream, answer)) => Ok(Self { stream, answer: answer.headers().clone() }),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(error) => panic!("{error}"),
        }
    }

    /// Opens a socket on a connection.
    pub(crate) async fn over(connection: TcpStream, path: &str) -> Self {
        let (stream, answer) =
            client_async(format!("ws://localhost{path}"), connection).await.unwrap();
        Self { stream, answer: answer.headers().clone() }
    }

    pub(crate) async fn open(server: &Server, path: &str) -> Self {
        Self::try_open(server, path, &[]).await.expect("it is let in")
    }

    pub(crate) async fn send(&mut self, frame: Value) {
        self.send_message(Message::text(frame.to_string())).await;
    }

    pub(crate) async fn send_message(&mut self, message: Message) {
        self.stream.send(message).await.unwrap();
    }

    /// Receives the next frame, except presence, whose time is not determined.
    pub(crate) async fn receive(&mut self) -> Received {
        loop {
            let received = self.receive_any().await;
            let is_presence =
                matches!(&received, Received::Frame(frame) if frame["type"] == "chat.presence");
            if !is_presence {
                return received;
            }
        }
    }

    pub(crate) async fn receive_any(&mut self) -> Received {
        loop {
            let next = timeout(MAX_WAIT, self.stream.next()).await.expect("something comes");
            return match next {
                Some(Ok(Message::Text(text))) => {
                    Received::Frame(serde_json::from_str(&text).unwrap())
                }
                Some(Ok(Message::Close(frame))) => {
                    Received::Closed(frame.map_or(1005, |frame| frame.code.into()))
                }
                Some(Ok(_)) => continue,
                Some(Err(_)) | None => Received::Broken,
            };
        }
    }

    pub(crate) async fn next(&mut self) -> Value {
        match self.receive().await {
            Received::Frame(frame) => frame,
            other => panic!("{other:?} instead of a frame"),
        }
    }

    /// Returns the frames up to one of that type, which comes last.
    pub(crate) async fn until(&mut self, kind: &str) -> Vec<Value> {
        let mut frames = Vec::new();
        while frames.last().is_none_or(|frame: &Value| frame["type"] != kind) {
            frames.push(self.next().await);
        }
        frames
    }

    /// Returns the close code, and skips all frames before it.
    pub(crate) async fn closed(&mut self) -> u16 {
        loop {
            match self.receive().await {
                Received::Frame(_) => {}
                Received::Closed(code) => return code,
                Received::Broken => panic!("the connection broke"),
            }
        }
    }
}

/// Returns the indices of the messages among some frames.
pub(crate) fn indices(frames: &[Value]) -> Vec<u64> {
    let texts = frames.iter().filter(|frame| frame["type"] == "chat.text");
    texts.map(|frame| frame["index"].as_u64().unwrap()).collect()
}
