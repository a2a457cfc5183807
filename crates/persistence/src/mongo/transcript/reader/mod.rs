//! Reading: the tail from the session, what is older from the segments.
//!
//! The session is always read first, and only segments below its `first_sequence` after it. The other
//! way round, or both at once, would not do: a segment without its cut may be older than an edit, and
//! would be taken for a part of the chat if the sealing that replaces it came between the two reads.

mod gathering;
mod history;
mod range;
mod sealed;

pub(crate) use sealed::segment_of;

use records::ChatId;

use crate::StoreError;
use crate::mongo::documents::CHAT_SEGMENTS;
use crate::mongo::engine::failure::Failure;

/// How often segments that do not fit together are read again: an edit may be splitting one.
pub(crate) const LOOKS: usize = 4;

/// Says that segments do not fit together, however often one looks.
pub(crate) fn has_gap(chat_id: &ChatId) -> Failure {
    let (collection, id) = (CHAT_SEGMENTS, chat_id.to_string());
    let field = "messages".to_owned();
    StoreError::Corrupt { collection, id, field, source: None }.into()
}
