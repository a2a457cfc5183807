//! Live chats over WebSocket: the events of a subscription as frames, and the frames that clients send.

mod catch_up;
mod client;
mod close;
mod connection;
mod envelope;
mod error;
mod event_frame;
mod frame;
mod handshake;
mod request;
mod submit;

pub(crate) use envelope::Envelope;
pub(crate) use handshake::Handshake;
