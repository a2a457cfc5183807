use std::error::Error as _;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use axum::http::StatusCode;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error as SocketError;

use crate::live::ends::End;
use crate::problem::Problem;

/// Why a socket is closed by the service; docs/API.md lists the codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Closing {
    code: u16,
    reason: String,
}

/// How long the other side has to close.
const PATIENCE: Duration = Duration::from_secs(2);

/// Nobody has said in time who they are, or it was not accepted.
const UNAUTHORIZED: u16 = 4401;
const FORBIDDEN: u16 = 4403;
const NOT_FOUND: u16 = 4404;

impl Closing {
    fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }

    pub(super) fn silent() -> Self {
        Self::new(close_code::POLICY, "nothing was heard")
    }

    pub(super) fn flood() -> Self {
        Self::new(close_code::POLICY, "too many frames")
    }

    pub(super) fn binary() -> Self {
        Self::new(close_code::UNSUPPORTED, "frames are JSON text")
    }

    pub(super) fn gone() -> Self {
        Self::new(close_code::POLICY, "the chat is no longer there")
    }

    pub(super) fn shutdown() -> Self {
        Self::new(close_code::AWAY, "the service stops, come back")
    }

    pub(super) fn late() -> Self {
        Self::new(close_code::AGAIN, "the store took too long")
    }

    pub(super) fn unauthorized(reason: &str) -> Self {
        Self::new(UNAUTHORIZED, reason)
    }

    /// Closes a socket whose client is not let in after all.
    pub(super) fn refusing(problem: &Problem) -> Self {
        let kind = problem.kind();
        let code = match kind.status {
            StatusCode::UNAUTHORIZED => UNAUTHORIZED,
            StatusCode::FORBIDDEN => FORBIDDEN,
            StatusCode::NOT_FOUND => NOT_FOUND,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => close_code::AGAIN,
            status if status.is_client_error() => close_code::POLICY,
            _ => close_code::ERROR,
        };
        Self::new(code, kind.slug)
    }

    /// Answers to what could not be received; `None` where there is nobody left to answer.
    pub(super) fn after(error: &axum::Error) -> Option<Self> {
        match error.source()?.downcast_ref()? {
            SocketError::Capacity(_) => Some(Self::new(close_code::SIZE, "a frame is too large")),
            SocketError::Utf8(_) => Some(Self::new(close_code::INVALID, "text is not UTF-8")),
            SocketError::Protocol(_) => Some(Self::new(close_code::PROTOCOL, "not WebSocket")),
            _ => None,
        }
    }
}

impl From<End> for Closing {
    fn from(end: End) -> Self {
        match end {
            End::Shutdown => Self::shutdown(),
            End::Expired => Self::new(close_code::POLICY, "the token has expired"),
            End::Revoked(problem) => Self::new(close_code::POLICY, problem.kind().slug),
        }
    }
}

/// Closes a socket, and waits for a moment for the other side to do so.
pub(super) async fn close(mut socket: WebSocket, closing: Option<Closing>) {
    let closed = async {
        if let Some(closing) = closing {
            let _gone = socket.send(Message::Close(Some(closing.into()))).await;
        }
        // What is left unread when a socket goes away may take the close frame with it.
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _late = timeout(PATIENCE, closed).await;
}

impl From<Closing> for CloseFrame {
    fn from(closing: Closing) -> Self {
        Self { code: closing.code, reason: closing.reason.into() }
    }
}
