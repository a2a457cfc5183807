//! Live chats: each subscriber of a chat is sent everything the chat holds, and then everything that
//! happens in it, without a gap and without a duplicate.
//!
//! A subscriber is a position, and takes what comes after it: from the window, which holds the newest
//! events of the chat in memory for all subscribers, or from the store where its position is older than
//! the window. Nothing is pushed. So joining, lagging and reconnecting are the same case, and there is no
//! queue that a slow subscriber could fill.

mod backoff;
mod document_log;
mod document_sse;
mod document_subscription;
mod encoded;
mod event;
mod feed;
mod feeds;
mod hub;
mod position;
mod presence;
mod reader;
mod shutdown;
mod sse;
mod state_events;
mod state_feed;
mod stream_limits;
mod streams;
mod subscription;
mod watcher;
mod window;

pub(crate) use document_log::DocumentPosition;
pub(crate) use document_sse::document_event_stream;
pub(crate) use document_subscription::DocumentEventResponse;
pub(crate) use encoded::fields_of;
pub(crate) use event::{Delivery, Event, MessageEvent};
pub(crate) use hub::Hub;
pub(crate) use position::Position;
pub(crate) use presence::PresenceGuard;
pub(crate) use shutdown::Shutdown;
pub(crate) use sse::{event_response, event_stream};
pub(crate) use stream_limits::{DownloadLimits, StreamEnd, StreamLimits};
pub(crate) use subscription::Subscription;
