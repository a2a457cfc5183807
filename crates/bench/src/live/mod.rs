//! Subscribers of chats, over HTTP, because the service's hub is not part of its public interface.

mod audience;
mod join;
mod tell;

pub(crate) use audience::{Audience, events_path};
pub(crate) use join::{Join, Until};
pub(crate) use tell::Tell;
