//! Reads messages: the tail from the session, older messages from segments, and edits of shared messages
//! from overlays.
//!
//! The session is always read first. Only segments below its `first_sequence` are read, and only after it.
//! Reading a segment before the session, or at the same time, could return outdated messages: an unfinished
//! sealing may have left a segment that is older than an edit in the tail. If another sealing replaced that
//! segment between the two reads, the session would make the outdated copy look valid.
//!
//! A [`SessionView`] locates the messages. A [`SealedCursor`] iterates over the sealed messages, in either
//! direction, through the segments of every chat in the lineage. Each fetch is one reply of about the size that
//! the caller requests, with its overlays. The cursor then checks that the messages continue at its position.
//! A page, a plan, a history, a single message and a list of ids differ only in what they do with the messages.

mod cursor;
mod fetch;
mod history;
mod message;
mod overlays;
mod page;
mod segments;
mod session;

pub(crate) use cursor::{MAX_READ_ATTEMPTS, SealedCursor, gap_error};
pub(crate) use history::{HistoryReader, Moment};
pub(crate) use message::Direction;
pub(crate) use overlays::visible_versions;
pub(crate) use page::Page;
pub(crate) use session::SessionView;
