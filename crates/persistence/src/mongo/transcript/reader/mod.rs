//! Reading: the tail from the session, older messages from the segments, edits of shared messages from
//! overlays.
//!
//! The session is always read first, and only segments below its `first_sequence` after it. The other
//! order, or both at once, would be wrong: a segment without its cut may be older than an edit, and
//! would be taken for a part of the chat if the sealing that replaces it came between the two reads.
//!
//! A [`SessionView`] says where the messages are. A [`SealedCursor`] goes through the sealed ones, in
//! either direction and through the segments of every chat that the lineage names. Each fetch is one reply
//! about as large as the caller asks for, with its overlays; the cursor then checks that the messages
//! continue where it stands. A page, a plan, a history, a single message and a list of ids differ only in
//! what they do with the messages.

mod cursor;
mod fetch;
mod history;
mod message;
mod overlays;
mod page;
mod segments;
mod session;

pub(crate) use cursor::{MAX_READ_ATTEMPTS, SealedCursor, gap_error};
pub(crate) use message::Direction;
pub(crate) use session::SessionView;
