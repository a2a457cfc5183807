use std::error::Error as _;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use axum::http::StatusCode;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Error as SocketError;

use crate::live::StreamEnd;
use crate::problem::Problem;

/// Why the service closes a socket; docs/api/live.md lists the codes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct CloseReason {
    code: u16,
    reason: String,
}

/// How long the client may take to complete the closing handshake.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);

/// The client sent no token in time, or the token was refused or revoked.
const UNAUTHORIZED: u16 = 4401;
const FORBIDDEN: u16 = 4403;
const NOT_FOUND: u16 = 4404;

impl CloseReason {
    fn new(code: u16, reason: impl Into<String>) -> Self {
        Self { code, reason: reason.into() }
    }

    pub(super) fn pings_unanswered() -> Self {
        Self::new(close_code::POLICY, "no reply to three pings")
    }

    pub(super) fn too_many_frames() -> Self {
        Self::new(close_code::POLICY, "too many frames above the rate limit")
    }

    pub(super) fn binary_frame() -> Self {
        Self::new(close_code::UNSUPPORTED, "frames must be JSON text")
    }

    pub(super) fn chat_gone() -> Self {
        Self::new(close_code::POLICY, "the chat no longer exists")
    }

    pub(super) fn shutdown() -> Self {
        Self::new(close_code::AWAY, "the service is stopping, reconnect")
    }

    pub(super) fn store_timeout() -> Self {
        Self::new(close_code::AGAIN, "the store did not answer in time")
    }

    pub(super) fn unauthorized(reason: &str) -> Self {
        Self::new(UNAUTHORIZED, reason)
    }

    /// Refuses a client after the upgrade, when it can no longer be sent a status.
    pub(super) fn from_problem(problem: &Problem) -> Self {
        let kind = problem.kind();
        let code = match kind.status {
            StatusCode::UNAUTHORIZED => UNAUTHORIZED,
            StatusCode::FORBIDDEN => FORBIDDEN,
            StatusCode::NOT_FOUND => NOT_FOUND,
            StatusCode::SERVICE_UNAVAILABLE | StatusCode::GATEWAY_TIMEOUT => close_code::AGAIN,
            status if status.is_client_error() => close_code::POLICY,
            _ => close_code::ERROR,
        };
        Self::new(code, kind.code)
    }

    /// Returns why a frame that cannot be received closes the socket; `None` if the client is gone.
    pub(super) fn from_receive_error(error: &axum::Error) -> Option<Self> {
        match error.source()?.downcast_ref()? {
            SocketError::Capacity(_) => {
                Some(Self::new(close_code::SIZE, "a frame is larger than 64 KiB"))
            }
            SocketError::Utf8(_) => {
                Some(Self::new(close_code::INVALID, "the text is not valid UTF-8"))
            }
            SocketError::Protocol(_) => {
                Some(Self::new(close_code::PROTOCOL, "the frame breaks the WebSocket protocol"))
            }
            _ => None,
        }
    }
}

impl From<StreamEnd> for CloseReason {
    fn from(end: StreamEnd) -> Self {
        match end {
            StreamEnd::Shutdown => Self::shutdown(),
            StreamEnd::TokenExpired => Self::new(close_code::POLICY, "the token has expired"),
            StreamEnd::TokenRevoked => Self::unauthorized("the token was revoked"),
            StreamEnd::KeyRemoved => Self::unauthorized("the key of the token was removed"),
            StreamEnd::Revoked(problem) => Self::new(close_code::POLICY, problem.kind().code),
        }
    }
}

/// Closes a socket, and waits a moment for the client to do the same.
pub(super) async fn close(mut socket: WebSocket, reason: Option<CloseReason>) {
    let closed = async {
        if let Some(reason) = reason {
            let _gone = socket.send(Message::Close(Some(reason.into()))).await;
        }
        // Closing a TCP socket with unread data resets it, and a reset can destroy the close frame before
        // the client has read it. So everything is read until the client closes too.
        while let Some(Ok(_)) = socket.recv().await {}
    };
    let _late = timeout(CLOSE_TIMEOUT, closed).await;
}

impl From<CloseReason> for CloseFrame {
    fn from(reason: CloseReason) -> Self {
        Self { code: reason.code, reason: reason.reason.into() }
    }
}
