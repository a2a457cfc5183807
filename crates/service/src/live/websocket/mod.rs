//! Live chats over WebSocket: what a subscription delivers as frames, and what clients send.

mod close;
mod conversation;
mod entrance;
mod error;
mod event;
mod frame;
mod request;
mod resume;
mod submit;

pub(crate) use entrance::Entrance;
