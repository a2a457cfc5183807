//! Middleware that wraps every request.

mod admit;
mod arrival;
mod deadline;
mod observe;
mod panic;
mod unread;

pub(crate) use admit::admit;
pub(crate) use deadline::deadline;
pub(crate) use observe::observe;
pub(crate) use panic::panicked;
pub(crate) use unread::close_unread;
