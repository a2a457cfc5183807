use std::time::Duration;

use futures::StreamExt as _;
use serde::Deserialize;
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{WebSocketStream, client_async};

use super::events::Event;
use super::refusal::CallError;

/// Longer than the interval of the service's pings.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The events of a chat, as WebSocket frames.
#[derive(Debug)]
pub struct Frames {
    socket: WebSocketStream<TcpStream>,
}

#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    id: Option<String>,
}

impl Frames {
    pub(super) async fn open(url: &str, path: &str) -> Result<Self, CallError> {
        let host = url.trim_start_matches("http://");
        let connection = TcpStream::connect(host).await.map_err(Error::from)?;
        let (socket, _answer) = client_async(format!("ws://{host}{path}"), connection).await?;
        Ok(Self { socket })
    }

    /// Waits for the next event; `None` when the service closes the socket.
    pub async fn next(&mut self) -> Result<Option<Event>, CallError> {
        loop {
            match timeout(TIMEOUT, self.socket.next()).await {
                Ok(Some(Ok(Message::Text(text)))) => return event(&text).map(Some),
                Ok(Some(Ok(Message::Close(_))) | None) | Err(_) => return Ok(None),
                Ok(Some(Ok(_))) => {}
                Ok(Some(Err(error))) => return Err(error.into()),
            }
        }
    }
}

/// Converts a frame to the corresponding server-sent event.
fn event(text: &str) -> Result<Event, CallError> {
    let data: Value = serde_json::from_str(text)?;
    let Head { kind, id } = Head::deserialize(&data)?;
    let name = if kind == "chat.text" { "message".to_owned() } else { kind };
    Ok(Event { name, id, data })
}
