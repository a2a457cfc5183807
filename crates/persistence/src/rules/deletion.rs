//! The limit and the result of a deletion of several messages.

use std::iter::zip;

use records::{EventId, Invalid, Limits, SizeLimit};

use crate::store::{DeletedMessage, Deletion};

/// Refuses too many ids.
pub(crate) fn check_deleted(event_ids: &[EventId]) -> Result<(), Invalid> {
    if event_ids.len() > Limits::DELETED_MESSAGES {
        let limit = format!("must hold at most {} ids", Limits::DELETED_MESSAGES);
        return Err(Invalid::too_large(SizeLimit::Batch, "/event_ids", limit));
    }
    Ok(())
}

/// Returns the result of a deletion. The chat has a message with an id if its sequence is given.
pub(crate) fn deletion(event_ids: &[EventId], sequences: &[Option<u64>]) -> Deletion {
    let mut deletion = Deletion::default();
    for (event_id, sequence) in zip(event_ids, sequences) {
        let event_id = event_id.clone();
        match *sequence {
            Some(sequence) => deletion.deleted.push(DeletedMessage { event_id, sequence }),
            None => deletion.unknown.push(event_id),
        }
    }
    deletion
}
