//! Live chats: whoever listens to a chat is given everything it holds, and then everything that comes,
//! without a seam.
//!
//! Nobody is sent anything. A subscription knows how far it is, and takes what comes after that: from
//! the newest events, which the feed of its chat keeps in memory for all of them, or from the store
//! where it is not as far yet, or no longer. So there is no difference between joining, lagging and
//! coming back, and no queue that a slow reader could fill.

mod aside;
mod ends;
mod event;
mod feed;
mod hub;
mod position;
mod presence;
mod shutdown;
mod sse;
mod subscription;
mod watch;
pub(crate) mod websocket;
mod window;

pub(crate) use ends::Ends;
pub(crate) use event::{CaughtUpResponse, StatusResponse, VersionResponse};
pub(crate) use hub::Hub;
pub(crate) use position::Position;
pub(crate) use presence::Announced;
pub(crate) use shutdown::Shutdown;
pub(crate) use sse::respond;
pub(crate) use subscription::Subscription;
