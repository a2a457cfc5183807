//! Those who listen to chats, over HTTP, as the service's own hub is no part of its interface.

mod audience;
mod join;
mod tell;

pub(crate) use audience::{Audience, events_path};
pub(crate) use join::{Join, Until};
pub(crate) use tell::Tell;
